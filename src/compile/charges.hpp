#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include <fheres/workload/program.hpp>
#include <fheres/workload/rehearsal.hpp>

namespace fheres::compile {

/// What is charged at each budgeted location at every moment of a feasible Program: each action of reclaim and enter,
/// then the rest of the stage from prefetch on, as one moment with its most. A plain value.
class Charges {
 public:
  Charges(const workload::Program& program, const workload::Rehearsal& rehearsal);

  /// Something of a stage's `enter` that could be there already.
  struct Ahead {
    workload::Location at;
    std::size_t stage = 0;
    std::size_t index = 0;   // within its enter
    std::size_t wanted = 0;  // the stage from whose prefetch on it should be there, at most `stage`
    std::size_t removed =
        0;  // the temporary charge stays until then, to the last stage where it is past the end
    Bytes charge = 0;
    Bytes temporary = 0;
  };
  /// Charges it as early as wanted, or as early as there is room from then on, and returns the stage. Nothing where its
  /// temporary charge has no room for as long as it stays.
  std::optional<std::size_t> reserve_ahead(const Ahead& item);

 private:
  struct Stage {
    std::vector<Bytes> enter;  // while each action of enter runs, in its order
    Bytes before = 0;          // the most of reclaim and of admitting reservations
    Bytes rest = 0;            // the most from prefetch on
  };
  struct Room {
    Bytes budget = 0;
    std::vector<Stage> stages;
  };
  class Walk;
  std::map<workload::Location, Room> rooms_;
};

}  // namespace fheres::compile
