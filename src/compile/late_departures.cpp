#include "compile/late_departures.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "compile/early_drops.hpp"
#include "compile/replay.hpp"

namespace fheres::compile {
namespace {

using workload::NamedAction;
using workload::Program;

/// Replays of the whole Program, fewer where it is long.
constexpr std::size_t kFewTries = 4, kManyTries = 64, kStagesTried = 20'000;

class Delayer {
 public:
  Delayer(const Program& program, const StageCosts& costs) : program_(program), costs_(costs) {}

  Program run() {
    const std::vector<std::size_t> stages = find();
    if (stages.empty()) return program_;
    const Replay before = replay(program_);
    if (!before.feasible) return program_;
    const auto goes = [&](const Program& made) {
      const Replay after = replay(made);
      return after.feasible && after.moved_bytes == before.moved_bytes;
    };
    Program all = program_;
    for (std::size_t k = stages.size(); k-- > 0;) delay(all, stages[k]);
    if (goes(all)) return all;
    const std::size_t tries = std::clamp(kStagesTried / program_.stages.size(), kFewTries, kManyTries);
    Program made = program_;
    for (std::size_t k = 0; k < std::min(tries, stages.size()); ++k) {
      Program more = made;
      delay(more, stages[k]);
      if (goes(more)) made = std::move(more);
    }
    return made;
  }

 private:
  /// Stages whose exit has something that can wait.
  std::vector<std::size_t> find() const {
    std::vector<std::size_t> found;
    for (std::size_t s = 0; s + 1 < program_.stages.size(); ++s) {
      const auto& exit = program_.stages[s].exit;
      if (std::any_of(exit.begin(), exit.end(),
                      [&](const NamedAction& action) { return can_wait(action, s); }))
        found.push_back(s);
    }
    return found;
  }

  bool can_wait(const NamedAction& action, std::size_t s) const {
    const workload::Value& value = program_.world.values[action.value];
    if (action.verb != NamedAction::Verb::move || action.at != Location::pinned_host()) return false;
    if (value.produced_by != s || value.spec.replica_mode == residency::ReplicaMode::exclusive) return false;
    const auto& exit = program_.stages[s].exit;
    const bool once = std::count_if(exit.begin(), exit.end(), [&](const NamedAction& other) {
                        return other.value == action.value;
                      }) == 1;
    return once && !uses(program_.stages[s + 1], costs_[s + 1], action.value);
  }

  /// What waits does so once: what was delayed into this stage stays there.
  void delay(Program& made, std::size_t s) const {
    auto& from = made.stages[s].exit;
    auto& to = made.stages[s + 1].exit;
    for (const NamedAction& action : program_.stages[s].exit) {
      if (!can_wait(action, s)) continue;
      std::erase_if(from, [&](const NamedAction& own) { return own.value == action.value; });
      to.push_back(action);
    }
  }

  const Program& program_;
  const StageCosts& costs_;
};

}  // namespace

Program with_late_departures(const Program& program, const StageCosts& costs) {
  return Delayer(program, costs).run();
}

}  // namespace fheres::compile
