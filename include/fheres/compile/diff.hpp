#pragma once

#include <string>
#include <vector>

#include <fheres/compile/movements.hpp>

namespace fheres::compile {

/// One difference. Of what was given (budgets, values, stages), or of what follows (transfers, what leaves
/// earlier).
struct Difference {
  enum class About { budget, value, stage, transfer, eviction };
  enum class How { added, removed, changed };
  About about = About::transfer;
  How how = How::changed;
  std::string stage;            // in which; empty: of the whole
  std::string value;            // or the location of a budget; empty for a stage
  std::string what;             // `12 MiB pinned-host -> cuda:0`, `budget 40 MiB, was 48 MiB`
  std::string why;              // of transfers and evictions that were added, one sentence; else may be empty
  Bytes before = 0, after = 0;  // moved, of transfers
};

/// Two Movements, aligned by stage and value.
struct Diff {
  std::vector<Difference> differences;  // budgets, values, stages, then by stage
  Bytes moved_before = 0, moved_after = 0;
  std::size_t added = 0, removed = 0, changed = 0;  // transfers

  bool equal() const { return differences.empty(); }
};

/// What changed from the first to the second, and why each transfer appeared: its stage is new, its value is
/// new, it has another size, the stage uses it only now, it starts elsewhere, it came in another stage
/// before, or it was there and left earlier; and that because of a smaller budget, a larger reservation or
/// larger values, where one of these is so. Names are all that is compared: two documents may be of different
/// kinds. Pure and deterministic.
Diff diff(const Movements& before, const Movements& after);

}  // namespace fheres::compile
