#include "brute_force.hpp"

#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <vector>

#include <fheres/residency/state.hpp>

namespace fheres::test {
namespace {

using memory::Location;
using residency::Action;
using residency::HandleId;
using residency::State;

enum class Phase { reclaim, enter, exit };

/// Where every value is, at one moment of one stage.
struct Moment {
  std::size_t stage = 0;
  Phase phase = Phase::reclaim;
  State state;
};
using Key = std::tuple<std::size_t, Phase, std::vector<std::vector<Location>>>;

class Forest {
 public:
  explicit Forest(const workload::Workload& workload) : workload_(workload) {}

  std::optional<Bytes> run() {
    State start(residency::ManagerId{1}, workload_.world.budgets(), {}, workload_.world.copies());
    for (const workload::ValueIndex v : workload_.world.placement_order()) {
      const workload::Value& value = workload_.world.values[v];
      if (handles_.size() <= v) handles_.resize(workload_.world.values.size());
      if (value.produced_by) {
        handles_[v] = start.announce(value.spec);
        continue;
      }
      if (value.backing) {
        auto backed = start.register_backed(value.spec, handles_[*value.backing]);
        if (!std::holds_alternative<HandleId>(backed)) return std::nullopt;
        handles_[v] = std::get<HandleId>(backed);
      } else if (value.source) {
        handles_[v] = start.register_source(value.spec, *value.source);
      } else {
        auto made = start.adopt(value.spec, value.at.front(), value.spec.logical_bytes);
        if (!std::holds_alternative<HandleId>(made)) return std::nullopt;
        handles_[v] = std::get<HandleId>(made);
      }
      for (const Location at : value.at)
        if (std::holds_alternative<residency::Refusal>(start.apply(residency::Ensure{handles_[v], at, {}})))
          return std::nullopt;
    }
    push(0, {0, Phase::reclaim, std::move(start)});
    while (!open_.empty()) {
      const auto [bytes, number] = open_.top();
      open_.pop();
      const Moment now = moments_[number];
      if (!done_.insert(key(now)).second) continue;
      if (now.stage == workload_.stages.size()) return bytes;
      go_on(bytes, now);
      for (const Action& action : actions(now.state)) {
        Moment next = now;
        const auto applied = next.state.apply(action);
        if (const auto* t = std::get_if<residency::Transition>(&applied))
          push(bytes + t->bytes, std::move(next));
      }
    }
    return std::nullopt;
  }

 private:
  Key key(const Moment& moment) const {
    std::vector<std::vector<Location>> places;
    for (const HandleId handle : handles_) {
      std::vector<Location>& list = places.emplace_back();
      for (const auto& m : moment.state.record(handle).materializations) list.push_back(m.at);
    }
    return {moment.stage, moment.phase, std::move(places)};
  }

  void push(Bytes bytes, Moment moment) {
    const auto known = best_.find(key(moment));
    if (known != best_.end() && known->second <= bytes) return;
    best_[key(moment)] = bytes;
    moments_.push_back(std::move(moment));
    open_.push({bytes, moments_.size() - 1});
  }

  void go_on(Bytes bytes, const Moment& now) {
    const workload::Stage& stage = workload_.stages[now.stage];
    Moment next = now;
    if (now.phase == Phase::reclaim) {
      for (const workload::Reservation& item : stage.reserve)
        if (std::holds_alternative<residency::Refusal>(next.state.reserve(item.spec))) return;
      next.phase = Phase::enter;
    } else if (now.phase == Phase::enter) {
      for (const workload::Requirement& item : stage.require)
        if (next.state.record(handles_[item.value]).at(item.at) == nullptr) return;
      for (std::size_t i = 0; i < stage.outputs.size(); ++i) {
        const auto from = next.state.reservations()[stage.layout.output_from[i]].id;
        const HandleId made = handles_[stage.outputs[i].value];
        if (next.state.adopt(made, *stage.at, next.state.record(made).spec->logical_bytes, from)) return;
      }
      next.phase = Phase::exit;
    } else {
      while (!next.state.reservations().empty()) next.state.release(next.state.reservations().front().id);
      for (const workload::Operand& item : stage.release)
        if (std::holds_alternative<residency::Refusal>(
                next.state.apply(residency::Discard{handles_[item.index]})))
          return;
      next.phase = Phase::reclaim;
      ++next.stage;
    }
    push(bytes, std::move(next));
  }

  std::vector<Action> actions(const State& state) const {
    std::vector<Action> list;
    for (workload::ValueIndex v = 0; v < handles_.size(); ++v) {
      if (state.record(handles_[v]).discarded) continue;
      std::set<Location> goals;
      for (const workload::Stage& stage : workload_.stages)
        for (const workload::Requirement& item : stage.require)
          if (item.value == v || workload_.world.values[item.value].backing == v) goals.insert(item.at);
      std::set<std::pair<Location, Location>> ways;
      for (const auto& m : state.record(handles_[v]).materializations) {
        list.push_back(residency::Drop{handles_[v], m.at});
        for (const Location goal : goals) ways.insert({m.at, goal});
        if (const auto tiers = workload_.world.policy.fallback.find(m.at);
            tiers != workload_.world.policy.fallback.end())
          for (const Location tier : tiers->second) ways.insert({m.at, tier});
      }
      for (const auto& [from, to] : ways) {
        if (from == to) continue;
        list.push_back(residency::Ensure{handles_[v], to, from});
        list.push_back(residency::Move{handles_[v], to, from});
      }
      if (state.record(handles_[v]).materializations.empty())
        for (const Location goal : goals) list.push_back(residency::Ensure{handles_[v], goal, {}});
    }
    return list;
  }

  const workload::Workload& workload_;
  std::vector<HandleId> handles_;
  std::vector<Moment> moments_;
  std::map<Key, Bytes> best_;
  std::set<Key> done_;
  std::priority_queue<std::pair<Bytes, std::size_t>, std::vector<std::pair<Bytes, std::size_t>>,
                      std::greater<>>
      open_;
};

}  // namespace

std::optional<Bytes> fewest_bytes(const workload::Workload& workload) { return Forest(workload).run(); }

}  // namespace fheres::test
