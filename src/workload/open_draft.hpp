#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include <fheres/workload/check.hpp>
#include <fheres/workload/draft.hpp>

namespace fheres::workload {

/// The variant of a seeded key whose half is required wherever the key is an input.
inline constexpr std::string_view kSeededThere = "seeded-there";

/// What a workload with questions was checked from, so that it can be checked again with other answers.
struct OpenDraft {
  /// An operation that could use a key of its own level.
  struct Use {
    std::size_t stage = 0;
    std::size_t operation = 0;
    int level = 0;
  };
  WorkloadDraft draft;
  std::vector<std::size_t> about;      // by question: the value's draft, or the stage's
  std::vector<std::vector<Use>> uses;  // by question: of a key, those below the freshest level
};

/// `check` without its questions: everything in its first variant.
CheckedWorkload check_as_it_is(const WorkloadDraft& draft);
/// Finds what the draft leaves open of a workload that it was checked to.
void ask(const WorkloadDraft& draft, Workload& workload);

}  // namespace fheres::workload
