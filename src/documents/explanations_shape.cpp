#include "explanations.hpp"

namespace fheres::documents {
namespace {

constexpr Explanation kShapes[] = {
    {"FHR0101",
     "Each document says for which version of the format it was written, so that a later fheres can still "
     "read it, or say "
     "that it cannot.",
     "apiVersion: fheres/v2\nkind: Workload\nmetadata: {name: x}\nstages: [{name: one, require: {cuda:0: "
     "w}}]\n",
     "Write `apiVersion: fheres/v1`."},
    {"FHR0102",
     "The kind decides which keys a document has. A file that another document names must be of the kind "
     "that is needed "
     "there: the world of a Request is a Workload, the plan of a stage comes from a Plan.",
     "apiVersion: fheres/v1\nkind: Workloads\nmetadata: {name: x}\n",
     "Write the kind as it is listed in the message, with its capital letter."},
    {"FHR0103",
     "Every key is checked: a misspelt one would otherwise be passed over, and what it says silently not be "
     "done.",
     "values:\n  w: {bytes: 1 MiB, at: pinned-host, prioritty: 3}\n",
     "Correct the spelling; the hint names the closest key that there is, or all of them. The schema of the "
     "document, named "
     "in its first line, completes keys in an editor."},
    {"FHR0104",
     "YAML maps have each key once. Of two, one would win silently, and which one is a matter of the reader.",
     "values:\n  w: {bytes: 1 MiB, at: pinned-host}\n  w: {bytes: 2 MiB, at: pinned-host}\n",
     "Remove or rename one of them."},
    {"FHR0105", "Something that has no default is not said.",
     "stages:\n  - require: {cuda:0: w}\nvalues:\n  w: {bytes: 1 MiB, at: pinned-host}\n",
     "Add what the message names; the schema of the document and its samples show how it looks."},
    {"FHR0106",
     "Something is of the wrong type: a list where one text is expected, a text where a number is. Numbers "
     "are not "
     "quoted; an expression in ${...} may be.",
     "values:\n  w: {bytes: [1 MiB], at: pinned-host}\n", "Write what the message expects."},
    {"FHR0107", "A number is readable, and outside of what makes sense or can be represented.",
     "checks: {tolerance: -1}\n", "Choose a number in the range that the message names."},
    {"FHR0108",
     "Names appear in messages, reports, traces and file names. So they have 1 to 200 bytes and no blanks, "
     "control "
     "characters, quotes, brackets, commas or `$`; `/`, `-`, `.` and `:` are fine. An expression in ${...} "
     "only has a "
     "meaning in an entry with a `for`.",
     "values:\n  \"first weight\": {bytes: 1 MiB, at: pinned-host}\n",
     "Use `first-weight` or `tile/0/weight`."},
    {"FHR0109",
     "Sizes are whole bytes (`4096`), or a number with a unit: kB, MB, GB, TB are powers of 1000, KiB, MiB, "
     "GiB, TiB powers of "
     "1024, and only with a unit may the number have a fraction. All sizes of a document together stay below "
     "2^54 bytes, "
     "so that no account can overflow.",
     "values:\n  w: {bytes: 64 megs, at: pinned-host}\n", "Write `64 MiB`, `1.5 GiB` or a number of bytes."},
    {"FHR0110",
     "The locations are the memories that values can live in: pageable-host, pinned-host (page-locked, fast "
     "to copy from "
     "and to a device), and cuda:0 to cuda:127.",
     "values:\n  w: {bytes: 1 MiB, at: gpu:0}\n",
     "Use one of these names. Which device `cuda:0` is, is settled when it runs."},
    {"FHR0111", "Here one of a few words can stand.",
     "values:\n  w: {bytes: 1 MiB, at: pinned-host, replica: shared}\n",
     "Use one of the words that the message lists."},
    {"FHR0112",
     "A document may name files in its own folder and below, so that looking at somebody's document cannot "
     "read or reveal "
     "files elsewhere. Links are followed first: what counts is where the file really is.",
     "apiVersion: fheres/v1\nkind: Request\nmetadata: {name: x}\nworld: {file: ../../world.yaml}\n"
     "requests: [{name: one, require: {cuda:0: w}}]\n",
     "Move the file, or give `--allow-outside` where you trust the document."},
    {"FHR0113",
     "Two keys that exclude each other stand in one map: two kinds of a value, two operations in one line, a "
     "plan beside a "
     "reservation that the plan settles.",
     "values:\n  w: {bytes: 1 MiB, ciphertext: {message: {constant: 1}}, at: pinned-host}\n",
     "Keep one of them; two operations are two items of the body."},
};

}  // namespace

std::span<const Explanation> shape_explanations() { return kShapes; }

}  // namespace fheres::documents
