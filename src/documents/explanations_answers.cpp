#include "explanations.hpp"

namespace fheres::documents {
namespace {

constexpr Explanation kAnswers[] = {
    {"FHR0901",
     "The document is well formed, and what it asks for is proven to be impossible: no order of actions "
     "makes the "
     "room, or the actions of a Plan do not. `fheres explain` names the stage, the location and the lines "
     "that "
     "cannot hold together, and lists what holds the room.",
     "",
     "Any of these helps: a larger budget, a smaller reservation, `release` of what is no longer needed, a "
     "fallback "
     "for what may leave. `fheres compile` may find a plan where the policy finds none."},
    {"FHR0902",
     "The search looked at as many states as it may and has no answer yet: neither feasible nor infeasible "
     "is "
     "proven.",
     "",
     "`--search-state-limit` lets it go on longer. A larger budget, or fewer values that could leave, makes "
     "the "
     "search shorter."},
    {"FHR0903",
     "More bytes move, a peak is higher, the predicted time is longer, or (of `fheres compile`) the gap to "
     "the "
     "lower bound is wider than what the file of `--baseline` records. The line says what grew, and by how "
     "much.",
     "", "Where that is intended, record a new baseline: `fheres explain FILE --json > baseline.json`."},
    {"FHR0904",
     "The run went through, and an output, decrypted, is further from its clear-text shadow, or from what "
     "the "
     "document expects of it, than `checks` allow.",
     "",
     "A little over it: the tolerance asks for more than the parameters give; `fheres params PRESET` prints "
     "the noise. Far over it: mostly a message that outgrows the range of the first limb."},
    {"FHR0905",
     "The question was answered, and then the world got in the way: a device, memory, a file. What was done "
     "before stays in the report (`run --report`), with the phase and the action that failed.",
     "", "The message says what failed; `fheres devices --check` tries each device on known answers."},
    {"FHR0906",
     "The run stopped at the next operation after a signal, as Ctrl-C sends it. Its report says how far it "
     "came.",
     "", "Run it again. In CI, a limit of time may have sent the signal."},
};

}  // namespace

std::span<const Explanation> answer_explanations() { return kAnswers; }

}  // namespace fheres::documents
