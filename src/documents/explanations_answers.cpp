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
};

}  // namespace

std::span<const Explanation> answer_explanations() { return kAnswers; }

}  // namespace fheres::documents
