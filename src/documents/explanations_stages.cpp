#include "explanations.hpp"

namespace fheres::documents {
namespace {

constexpr Explanation kStages[] = {
    {"FHR0401", "A body is made of the operations of CKKS and of a few that are circuits of others.",
     "parameters: {preset: slots8192-scale40-levels7}\nvalues:\n"
     "  x: {ciphertext: {message: {constant: 1}}, at: pinned-host}\n"
     "stages:\n  - {name: one, at: cuda:0, body: [{y: {double: x}}], outputs: [y]}\n",
     "Write one of the operations: add, sub, negate, multiply, square, relinearize, rescale, mod_switch, "
     "rotate, conjugate "
     "and their like with _plain, _scalar and _rescale; sum_slots, polynomial."},
    {"FHR0402", "An operation has a fixed number of operands.",
     "parameters: {preset: slots8192-scale40-levels7}\nvalues:\n"
     "  x: {ciphertext: {message: {constant: 1}}, at: pinned-host}\n"
     "stages:\n  - {name: one, at: cuda:0, body: [{y: {add: [x]}}], outputs: [y]}\n",
     "List as many as the message expects."},
    {"FHR0403",
     "Rotations, conjugations and relinearizations switch keys: they need a key of their kind, a rotation "
     "one for its steps. "
     "Such a key is a value like any other, with its room and its place.",
     "parameters: {preset: slots8192-scale40-levels7}\nvalues:\n"
     "  x: {ciphertext: {message: {constant: 1}}, at: pinned-host}\n"
     "stages:\n  - {name: one, at: cuda:0, body: [{y: {rotate: x, steps: 3}}], outputs: [y]}\n",
     "Declare the key under `values` (`rotation_key: {steps: 3}`), and name it with `key:` or rotate by its "
     "`steps`."},
    {"FHR0404",
     "Operands of one operation agree in level and scale, a product has three components until it is "
     "relinearized, and each "
     "rescale takes one of the levels. All of it is inferred along the stages before anything runs.",
     "parameters: {preset: slots8192-scale40-levels7}\nvalues:\n"
     "  x: {ciphertext: {message: {constant: 1}}, at: pinned-host}\n"
     "  z: {ciphertext: {message: {constant: 1}, level: 1}, at: pinned-host}\n"
     "stages:\n  - {name: one, at: cuda:0, body: [{y: {add: [x, z]}}], outputs: [y]}\n",
     "Bring the operand where it has to be with mod_switch or rescale, or relinearize first; the message has "
     "the levels."},
    {"FHR0405",
     "A stage without body, requirements and plan would do nothing, which is most likely a mistake.",
     "stages:\n  - {name: one, at: cuda:0}\n", "Give it a body, a `require` or a `plan`, or remove it."},
    {"FHR0406",
     "Reservations that are listed by hand must hold what the body needs: its workspace, and its outputs, "
     "which are taken out "
     "of the one labelled `outputs`, else out of the first at their location.",
     "parameters: {preset: slots8192-scale40-levels7}\nvalues:\n"
     "  x: {ciphertext: {message: {constant: 1}}, at: pinned-host}\n"
     "stages:\n  - {name: one, at: cuda:0, body: [{y: {negate: x}}], outputs: [y],\n"
     "     reserve: [{at: cuda:0, bytes: 1 KiB, label: outputs}]}\n",
     "Reserve what the message names, or leave `reserve` out: the default takes exactly what is needed."},
    {"FHR0407", "An output is a result of the body of the same stage; an expectation is of an output.",
     "parameters: {preset: slots8192-scale40-levels7}\nvalues:\n"
     "  x: {ciphertext: {message: {constant: 1}}, at: pinned-host}\n"
     "stages:\n  - {name: one, at: cuda:0, body: [{y: {negate: x}}], outputs: [z]}\n",
     "Name a result of the body."},
    {"FHR0408", "Where a body runs decides where its inputs have to be.",
     "parameters: {preset: slots8192-scale40-levels7}\nvalues:\n"
     "  x: {ciphertext: {message: {constant: 1}}, at: pinned-host}\n"
     "stages:\n  - {name: one, body: [{y: {negate: x}}], outputs: [y]}\n",
     "Add `at: cuda:0`, or a host location to run it there."},
    {"FHR0409",
     "A linear transform multiplies by diagonals, each of which stands once. A plaintext that is one of them "
     "is encoded for "
     "its giant step and cannot also be used for another one, or as a factor of its own.",
     "parameters: {preset: test-slots512-scale40-levels4}\nvalues:\n"
     "  x: {ciphertext: {message: {constant: 1}}, at: pinned-host}\n"
     "  d: {plaintext: {message: {constant: 1}}, at: pinned-host}\n"
     "  k: {rotation_key: {steps: 1}, at: pinned-host}\n"
     "stages:\n  - name: one\n    at: cuda:0\n    body:\n"
     "      - y: {linear_transform: x, diagonals: {0: d, 512: d}}\n    outputs: [y]\n",
     "Leave out the second one, or declare another plaintext with the same message."},
    {"FHR0410",
     "The results of a body share one workspace, whose layout takes time for each pair of results that live "
     "at once. A body of "
     "so many operations is better several stages, which can also be evicted between.",
     "", "Split the stage: its outputs are inputs of the next one."},
    {"FHR0501",
     "What a stage of a Plan produces is paid for by one of its reservations, named by its label and at the "
     "same location, "
     "and all that comes out of one must fit it.",
     "apiVersion: fheres/v1\nkind: Plan\nmetadata: {name: x}\nvalues: {w: {bytes: 1 KiB, at: pinned-host}}\n"
     "stages:\n  - {name: one, produce: [{y: {bytes: 1 KiB, at: cuda:0, from: outputs}}]}\n",
     "Add the reservation, or make it larger."},
    {"FHR0502", "A copy from a location to the same one would do nothing.",
     "apiVersion: fheres/v1\nkind: Plan\nmetadata: {name: x}\nvalues: {w: {bytes: 1 KiB, at: pinned-host}}\n"
     "stages:\n  - {name: one, enter: [{ensure: w, at: cuda:0, from: cuda:0}]}\n",
     "Name another source, or leave `from` out: then any replica is read."},
    {"FHR0503", "The stage is looked up in the other document, by its name there.",
     "apiVersion: fheres/v1\nkind: Request\nmetadata: {name: x}\n"
     "world: {file: automatic-rotate-scale.yaml, after: rotate-scale/tile-1}\n"
     "requests: [{name: one, require: {cuda:0: x}}]\n",
     "Correct the name; stages of an entry with a `for` have the name that it makes, such as `tile-3`."},
    {"FHR0504",
     "A prefetch copies ahead for a later stage while the body runs. Only ensures can do that: a move or "
     "drop "
     "would take something away under the body.",
     "apiVersion: fheres/v1\nkind: Plan\nmetadata: {name: x}\nvalues: {w: {bytes: 1 KiB, at: pinned-host}}\n"
     "stages:\n  - {name: one, prefetch: [{drop: w, at: pinned-host}]}\n",
     "Write an ensure, or put the action into `exit`."},
    {"FHR0505",
     "In a Plan, a value with a backing is expanded from that value where it is used. So the backing starts "
     "somewhere, and "
     "has no backing of its own.",
     "apiVersion: fheres/v1\nkind: Plan\nmetadata: {name: x}\nvalues:\n"
     "  w: {bytes: 1 KiB, backing: w}\n"
     "stages:\n  - {name: one, enter: [{ensure: w, at: cuda:0}]}\n",
     "Name the value that holds the compact form, such as the seeded half of a key."},
    {"FHR0521",
     "A compiled Plan names its workload by the SHA-256 of the file. Of any other version it may place "
     "values that are no longer "
     "there, or miss new ones.",
     "", "Compile the workload again: `fheres compile WORKLOAD -o PLAN`."},
    {"FHR0522",
     "A Plan that is to place a workload's values has its values, stages and outputs: the same names, sizes "
     "and order.",
     "", "Compile the workload again, or bring the Plan up to it by hand; the message names what differs."},
    {"FHR0523",
     "A Plan says which variant a value or a stage has, where its workload leaves that to the compiler: the "
     "form of a "
     "key or a plaintext, or how a stage switches keys. This one is not among those that the workload "
     "allows.",
     "", "Compile the workload again; `form: auto` and `choose` in the workload say what is left open."},
};

}  // namespace

std::span<const Explanation> stage_explanations() { return kStages; }

}  // namespace fheres::documents
