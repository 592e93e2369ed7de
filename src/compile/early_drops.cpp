#include "compile/early_drops.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "compile/transfers.hpp"

namespace fheres::compile {
namespace {

using workload::NamedAction;
using workload::Program;
using workload::ProgramStage;

/// Calls `each` with every value that a stage does something with, but what it drops in reclaim.
template <class Each>
void for_each_used(const ProgramStage& stage, const StageCost& cost, const Each& each) {
  for (const NamedAction& action : stage.reclaim)
    if (action.verb != NamedAction::Verb::drop) each(action.value);
  for (const auto* actions : {&stage.enter, &stage.prefetch, &stage.exit})
    for (const NamedAction& action : *actions) each(action.value);
  for (const workload::Requirement& item : stage.require) each(item.value);
  for (const workload::Produced& item : stage.produce) each(item.value);
  for (const workload::Operand& item : stage.release) each(item.index);
  for (const OperationCost& operation : cost.operations)
    for (const ValueIndex value : operation.reads) each(value);
}

/// Where a device's copy of a value is left over at the end, beside one that a host location has.
std::vector<std::pair<ValueIndex, Location>> left_over(const workload::Rehearsal& rehearsal,
                                                       const ValueTable& index) {
  std::vector<std::pair<ValueIndex, Location>> found;
  const auto records = rehearsal.state.records();
  for (std::uint64_t serial = 0; serial < records.size(); ++serial) {
    const auto& places = records[serial].materializations;
    if (places.size() < 2 || !places.front().at.is_host()) continue;  // in location order
    for (const residency::Materialization& item : places)
      if (item.at.is_cuda()) found.push_back({index.of(rehearsal.state.handle(serial)), item.at});
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// The last stage that brings anything to a location, or makes it there; none: 0.
std::size_t last_arrival(const workload::Rehearsal& rehearsal, const Program& program, Location at) {
  for (std::size_t s = program.stages.size(); s-- > 0;) {
    for (const residency::ActionExplanation& action : rehearsal.stages[s].explanation.actions)
      if (!action.no_op && action.destination == at &&
          !std::holds_alternative<residency::Drop>(action.action))
        return s;
  }
  return 0;
}

}  // namespace

bool uses(const ProgramStage& stage, const StageCost& cost, ValueIndex value) {
  bool found = false;
  for_each_used(stage, cost, [&](ValueIndex used) { found = found || used == value; });
  return found;
}

Program with_early_drops(const Program& program, const workload::Rehearsal& rehearsal,
                         const StageCosts& costs) {
  const std::vector<workload::Value>& values = program.world.values;
  std::vector<char> tied(values.size());  // to a backing, whose last copies go in their order (R66)
  for (ValueIndex i = 0; i < values.size(); ++i) {
    if (!values[i].backing) continue;
    tied[i] = tied[*values[i].backing] = 1;
  }
  Program made = program;
  for (ProgramStage& stage : made.stages) stage.reclaim.clear();
  std::vector<std::size_t> free_from(values.size());  // the stage after the last one that used it
  for (std::size_t s = 0; s < program.stages.size(); ++s) {
    const ProgramStage& stage = program.stages[s];
    std::vector<ValueIndex> used;
    for_each_used(stage, costs[s], [&](ValueIndex value) { used.push_back(value); });
    std::sort(used.begin(), used.end());
    for (const NamedAction& action : stage.reclaim) {
      const bool alone = action.verb == NamedAction::Verb::drop && !tied[action.value] &&
                         !std::binary_search(used.begin(), used.end(), action.value) &&
                         std::count_if(stage.reclaim.begin(), stage.reclaim.end(),
                                       [&](const NamedAction& a) { return a.value == action.value; }) == 1;
      made.stages[alone ? free_from[action.value] : s].reclaim.push_back(action);
      free_from[action.value] = std::max(free_from[action.value], s);
    }
    for (const ValueIndex value : used) free_from[value] = s + 1;
  }
  std::map<Location, std::size_t> last;
  for (const auto& [value, at] : left_over(rehearsal, ValueTable(program, rehearsal))) {
    const auto known = last.find(at);
    const std::size_t until = known != last.end() ? known->second : last_arrival(rehearsal, program, at);
    last.emplace(at, until);
    if (tied[value] || free_from[value] > until) continue;
    made.stages[free_from[value]].reclaim.push_back({NamedAction::Verb::drop, value, at, {}, {}});
  }
  return made;
}

}  // namespace fheres::compile
