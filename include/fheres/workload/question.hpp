#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <fheres/workload/place.hpp>

namespace fheres::workload {

struct OpenDraft;

/// Something that a document leaves to the compiler. What it may answer:
///   a key: `full`; `seeded`, half the bytes, expanded where used; `seeded-there`, its half being there at each use;
///     if used at several levels `full-by-level`, `seeded-by-level`: one for each, as large as that level needs;
///   a plaintext: `prepared`, `compact` (a word a coefficient, expanded where it is used), `encoded` (from its message, each
///     time that it is brought);
///   a stage: `whole`, `groups-of-8`, ...: the output limbs that its key switches work on at a time. Fewer need less
///     workspace and take a little longer.
struct Question {
  enum class About { value, stage };
  About about = About::value;
  Name name;                          // of the value or the stage
  std::vector<std::string> variants;  // at least two; the first holds where nobody chooses
};

/// The variant of each question, by index.
using Selection = std::vector<std::size_t>;

}  // namespace fheres::workload
