#include "explanations.hpp"

namespace fheres::documents {
namespace {

constexpr Explanation kValues[] = {
    {"FHR0301", "A name that stands for no value: neither one under `values` nor a result of a stage.",
     "values:\n  weight: {bytes: 1 MiB, at: pinned-host}\n"
     "stages:\n  - {name: one, require: {cuda:0: wieght}}\n",
     "Correct the spelling, or declare the value."},
    {"FHR0302",
     "Every name is defined once in a document: values, results of all stages, stages, stable keys. So a "
     "name means the same "
     "wherever it stands, also in reports and traces.",
     "values:\n  w: {bytes: 1 MiB, at: pinned-host}\n"
     "stages:\n  - {name: one, require: {cuda:0: w}}\n  - {name: one, require: {cuda:0: w}}\n",
     "Give the later one a name of its own. In an entry with a `for`, put `${t}` into the name."},
    {"FHR0303",
     "Each operand has its kind: a plaintext cannot stand where a ciphertext is needed, nor a key for "
     "either.",
     "parameters: {preset: slots8192-scale40-levels7}\nvalues:\n"
     "  x: {ciphertext: {message: {constant: 1}}, at: pinned-host}\n"
     "  k: {relinearization_key: {}, at: pinned-host}\n"
     "stages:\n  - {name: one, at: cuda:0, body: [{y: {add: [x, k]}}], outputs: [y]}\n",
     "Name a value of the kind that the message expects; `add_plain` and `multiply_plain` take a plaintext "
     "second."},
    {"FHR0304", "An exclusive value is at one location at a time; it moves and is never copied.",
     "values:\n  w: {bytes: 1 MiB, at: [pinned-host, cuda:0], replica: exclusive}\n",
     "Name one location, or make it `replica: replicable`."},
    {"FHR0305", "One location, or one value at a location, is listed twice.",
     "values:\n  w: {bytes: 1 MiB, at: [pinned-host, pinned-host]}\n", "Remove one of them."},
    {"FHR0306",
     "A message has one real number for each slot, half as many slots as N, and its numbers times the scale "
     "must fit the "
     "first prime, with a bit to spare.",
     "parameters: {preset: slots8192-scale40-levels7}\nvalues:\n"
     "  w: {plaintext: {message: {constant: 1.0e+9}}, at: pinned-host}\n",
     "Shorten the message, scale its numbers down, or take parameters with more slots or a larger first "
     "prime."},
    {"FHR0307", "Levels count from 0, the freshest, to the number of primes that can be divided away.",
     "parameters: {preset: slots8192-scale40-levels7}\nvalues:\n"
     "  w: {ciphertext: {message: {constant: 1}, level: 8}, at: pinned-host}\n",
     "Take a level of the range that the message names; for plaintexts and keys `auto` finds it."},
    {"FHR0308",
     "A rotation by all slots or by none does nothing and needs no key. A key for such a rotation would only "
     "take room.",
     "parameters: {preset: slots8192-scale40-levels7}\nvalues:\n"
     "  w: {rotation_key: {steps: 8192}, at: pinned-host}\n",
     "Take steps between 1 and one less than the slots, or as negative numbers."},
    {"FHR0309",
     "Stages run in order. A value can be used after the stage that makes it and until one releases it; a "
     "result that is not "
     "listed under `outputs` is only there inside its stage.",
     "values:\n  w: {bytes: 1 MiB, at: pinned-host}\n"
     "stages:\n  - {name: one, require: {cuda:0: w}, release: [w]}\n  - {name: two, require: {cuda:0: w}}\n",
     "Release it later, list the result under `outputs`, or put the stages into another order."},
    {"FHR0310", "Every value starts somewhere, unless it can be made again from a source.",
     "values:\n  w: {bytes: 1 MiB}\n", "Add `at:` with a location or several."},
    {"FHR0312", "A fallback says where values go that have to leave a location: to other ones, each once.",
     "policy: {fallback: {cuda:0: [cuda:0]}}\n", "List the other locations, best first."},
    {"FHR0313", "Peers are pairs of different devices that copy to each other directly.",
     "machine: {peers: [[cuda:0, cuda:0]]}\n", "Name each pair once: `peers: [[cuda:0, cuda:1]]`."},
    {"FHR0314",
     "A ciphertext can only be used with keys of the secret that encrypted it. Values without a file are "
     "made by this run "
     "with a secret of its own, which cannot be the one behind the files.",
     "parameters: {preset: slots8192-scale40-levels7}\nvalues:\n"
     "  x: {ciphertext: {}, source: {file: x.safetensors}}\n"
     "  k: {rotation_key: {steps: 1}, at: pinned-host}\n",
     "Give every ciphertext and key a file (`fheres client keygen` and `encrypt` write them), or none."},
    {"FHR0315", "A run needs the file that a value comes from; `validate` and `explain` do without.", "",
     "Make it with `fheres client keygen` or `fheres client encrypt`, or correct the path."},
    {"FHR0316",
     "A message can come from a file: .npy (one dimension of <f8, <f4, or <c16 without imaginary parts), "
     ".csv, or raw "
     "little-endian doubles in .f64, .bin or .raw. It is read when the document is, so that its number of "
     "numbers and their "
     "size are known.",
     "parameters: {preset: slots8192-scale40-levels7}\nvalues:\n"
     "  w: {plaintext: {message: {file: gone.npy}}, at: pinned-host}\n",
     "Look at the path, and save the numbers as doubles: `numpy.save(\"w.npy\", "
     "w.astype(\"<f8\").ravel())`."},
};

}  // namespace

std::span<const Explanation> value_explanations() { return kValues; }

}  // namespace fheres::documents
