#include <algorithm>
#include <map>
#include <unordered_map>

#include <fheres/base/check.hpp>
#include <fheres/compile/cost.hpp>
#include <fheres/workload/body_times.hpp>

#include "compile/transfers.hpp"

namespace fheres::compile {
namespace {

using residency::ActionExplanation;
using residency::Phase;

/// The copy engine of one direction of one device.
struct Engine {
  int device = -1;  // -1: the host's own
  bool out = false;
  friend auto operator<=>(const Engine&, const Engine&) = default;
};

/// A transfer, where it stands among the operations: those are numbered over all stages.
struct Link {
  Engine engine;
  double ns = 0;
  std::size_t needed_by = 0;    // the first operation that has to wait for it; or how many there are
  std::size_t comes_after = 0;  // how many operations are over before it can start
};

class Timeline {
 public:
  Timeline(const workload::Program& program, const workload::Rehearsal& rehearsal,
           const workload::Machine& machine, const StageCosts& costs)
      : program_(program),
        rehearsal_(rehearsal),
        machine_(machine),
        costs_(costs),
        index_(program, rehearsal) {
    FHERES_CHECK(costs.size() == program.stages.size());
    made_by_.resize(program.world.values.size());
  }

  Forecast run() {
    for (const StageCost& cost : costs_) operations_ += cost.operations.size();
    for (std::size_t s = 0; s < rehearsal_.stages.size(); ++s) play(s);
    out_.makespan_ns = host_;
    for (const auto& [engine, free] : engines_) out_.makespan_ns = std::max(out_.makespan_ns, free);
    for (auto& entry : directions_) out_.directions.push_back(entry.second);
    bound();
    return std::move(out_);
  }

 private:
  using Place = std::pair<ValueIndex, Location>;

  void play(std::size_t s) {
    Forecast::Stage& stage = out_.stages.emplace_back();
    stage.name = program_.stages[s].name.text;
    stage.start_ns = host_;
    host_ += machine_.stage_ns;
    const auto& actions = rehearsal_.stages[s].explanation.actions;
    std::size_t next = 0;
    for (; next < actions.size() && actions[next].phase != Phase::exit; ++next) act(actions[next]);
    carve(s);
    stage.body_ns = host_;
    body(s, stage);
    for (; next < actions.size(); ++next) act(actions[next]);
    stage.end_ns = host_;
    for (const workload::Produced& item : program_.stages[s].produce) made_by_[item.value] = done_;
  }

  void act(const ActionExplanation& action) {
    const ValueIndex value = index_.of(residency::value_of(action.action));
    if (action.settles)
      for (auto place = arrivals_.lower_bound({value, Location::pageable_host()});
           place != arrivals_.end() && place->first.first == value; ++place)
        host_ = std::max(host_, place->second);
    if (action.no_op) return;
    if (action.compacted != 0) slide(*action.destination, action.compacted);
    // A move to where a copy is already only removes.
    if (!action.destination || !action.source || (action.bytes == 0 && !action.expanded_from)) return;
    const Leg leg = time_of(action, value);
    host_ += machine_.stage_ns;  // who queues it
    double start = host_;
    for (const Engine& engine : leg.engines) start = std::max(start, engines_[engine]);
    // What is read may be arriving itself.
    if (const auto source = arrivals_.find({value, *action.source}); source != arrivals_.end())
      start = std::max(start, source->second);
    const double end = start + leg.ns;
    for (const Engine& engine : leg.engines) {
      engines_[engine] = end;
      links_.push_back({engine, leg.ns, operations_, made_by_[value]});
      waiting_[{value, *action.destination}].push_back(links_.size() - 1);
    }
    arrivals_[{value, *action.destination}] = end;
    if (!action.asynchronous) host_ = end;
  }

  /// What slides for the body's blocks: the locations' figures have it beside what slides for the actions.
  void carve(std::size_t s) {
    const residency::Explanation& told = rehearsal_.stages[s].explanation;
    Bytes left = told.compacted_bytes();
    for (const ActionExplanation& action : told.actions) left -= action.compacted;
    if (left != 0) slide(costs_[s].at.value_or(Location::cuda(0)), left);
  }

  void slide(Location at, Bytes bytes) {
    const double ns = machine_.slide_ns(at, bytes);
    out_.compaction_ns += ns;
    host_ += ns;
  }

  struct Leg {
    double ns = 0;
    std::vector<Engine> engines;
  };

  Leg time_of(const ActionExplanation& action, ValueIndex value) {
    const Location from = *action.source, to = *action.destination;
    Leg leg;
    if (from != to) {
      const auto ns = machine_.copy_ns(from, to, action.bytes);
      if (!ns) ++out_.unknown_copies;
      leg.ns = ns.value_or(0);
      Forecast::Direction& sum =
          directions_.try_emplace({from, to}, Forecast::Direction{from, to, 0, 0}).first->second;
      sum.bytes += action.bytes;
      sum.ns += leg.ns;
    }
    if (action.expanded_from)
      leg.ns += machine_.expand_ns(program_.world.values[value].spec.logical_bytes).value_or(0);
    if (from.is_cuda() && from != to) leg.engines.push_back({from.device(), machine_.full_duplex});
    if (to.is_cuda()) leg.engines.push_back({to.device(), false});
    return leg;
  }

  void body(std::size_t s, Forecast::Stage& stage) {
    const StageCost& cost = costs_[s];
    double device = host_;
    const auto wait = [&](ValueIndex value) {
      double ready = 0;
      for (auto place = arrivals_.lower_bound({value, Location::pageable_host()});
           place != arrivals_.end() && place->first.first == value; ++place)
        if (!cost.at || place->first.second == *cost.at) {
          ready = std::max(ready, place->second);
          satisfy(place->first);
        }
      if (ready <= device) return;
      out_.stalls.push_back({value, s, ready - device});
      stage.stall_ns += ready - device;
      device = ready;
    };
    if (cost.operations.empty())
      for (const workload::Requirement& item : program_.stages[s].require) wait(item.value);
    for (const OperationCost& operation : cost.operations) {
      for (const ValueIndex value : operation.reads) wait(value);
      device += operation.ns;
      stage.compute_ns += operation.ns;
      work_.push_back(operation.ns);
      ++done_;
    }
    out_.compute_ns += stage.compute_ns;
    host_ = device;
    // What is required and not read is settled too (R23).
    for (const workload::Requirement& item : program_.stages[s].require)
      if (const auto place = arrivals_.find({item.value, item.at}); place != arrivals_.end())
        host_ = std::max(host_, place->second);
  }

  /// Transfers so far to that place are needed from this operation on.
  void satisfy(const Place& place) {
    const auto found = waiting_.find(place);
    if (found == waiting_.end()) return;
    for (const std::size_t link : found->second) links_[link].needed_by = done_;
    waiting_.erase(found);
  }

  void bound() {
    std::vector<double> before(operations_ + 1);
    for (std::size_t i = 0; i < work_.size(); ++i) before[i + 1] = before[i] + work_[i];
    const double all = before[work_.size()];
    for (std::size_t i = work_.size(); i < operations_; ++i) before[i + 1] = all;
    out_.bound_ns = all;
    std::map<Engine, std::pair<std::vector<double>, std::vector<double>>> by_engine;
    for (const Link& link : links_) {
      auto& [needed, after] = by_engine[link.engine];
      needed.resize(operations_ + 1);
      after.resize(operations_ + 1);
      needed[link.needed_by] += link.ns;
      after[link.comes_after] += link.ns;
    }
    for (auto& [engine, sums] : by_engine) {
      double copied = 0;
      for (std::size_t i = 0; i <= operations_; ++i) {
        copied += sums.first[i];
        out_.bound_ns = std::max(out_.bound_ns, copied + all - before[i]);
      }
      copied = 0;
      for (std::size_t i = operations_ + 1; i-- > 0;) {
        copied += sums.second[i];
        out_.bound_ns = std::max(out_.bound_ns, copied + before[i]);
      }
    }
  }

  const workload::Program& program_;
  const workload::Rehearsal& rehearsal_;
  const workload::Machine& machine_;
  const StageCosts& costs_;
  ValueTable index_;
  Forecast out_;
  double host_ = 0;
  std::map<Engine, double> engines_;
  std::map<Place, double> arrivals_;
  std::map<std::pair<Location, Location>, Forecast::Direction> directions_;
  // For the bound.
  std::size_t operations_ = 0, done_ = 0;
  std::vector<double> work_;
  std::vector<std::size_t> made_by_;  // by value: how many operations are over when it is there
  std::vector<Link> links_;
  std::map<Place, std::vector<std::size_t>> waiting_;  // links, by where they bring what
};

}  // namespace

ValueTable::ValueTable(const workload::Program& program, const workload::Rehearsal& rehearsal) {
  std::unordered_map<std::string_view, ValueIndex> by_name;
  for (ValueIndex i = 0; i < program.world.values.size(); ++i)
    by_name.emplace(program.world.values[i].spec.name, i);
  const auto records = rehearsal.state.records();
  for (const residency::ValueRecord& record : records) indices_.push_back(by_name.at(record.spec->name));
}

StageCosts costs_of(const workload::Program& program, const workload::Workload* workload,
                    const workload::Machine& machine, std::size_t* unknown) {
  StageCosts costs(program.stages.size());
  if (workload == nullptr) return costs;
  FHERES_CHECK(workload->stages.size() == costs.size());
  std::unordered_map<std::string_view, ValueIndex> by_name;
  for (ValueIndex i = 0; i < program.world.values.size(); ++i)
    by_name.emplace(program.world.values[i].name.text, i);
  for (std::size_t s = 0; s < costs.size(); ++s) {
    const workload::Stage& stage = workload->stages[s];
    costs[s].at = stage.at;
    const auto times = workload::body_times(workload->world, stage, machine);
    for (std::size_t i = 0; i < stage.body.size(); ++i) {
      const workload::BodyOperation& operation = stage.body[i];
      OperationCost cost{times[i].value_or(0), {}};
      if (!times[i] && unknown != nullptr) ++*unknown;
      const auto read = [&](const workload::Operand& operand) {
        if (operand.from == workload::Operand::From::value)
          cost.reads.push_back(by_name.at(workload->world.values[operand.index].name.text));
      };
      for (const workload::Operand& operand : operation.operands) read(operand);
      if (operation.key) read(*operation.key);
      for (const workload::Operand& key : operation.keys) read(key);
      if (!times[i])
        for (const ValueIndex value : cost.reads)
          cost.ns += machine
                         .copy_ns(Location::pinned_host(), stage.at.value_or(Location::cuda(0)),
                                  program.world.values[value].spec.logical_bytes)
                         .value_or(0);
      costs[s].operations.push_back(std::move(cost));
    }
  }
  return costs;
}

Forecast forecast(const workload::Program& program, const workload::Rehearsal& rehearsal,
                  const workload::Machine& machine, const StageCosts& costs) {
  return Timeline(program, rehearsal, machine, costs).run();
}

}  // namespace fheres::compile
