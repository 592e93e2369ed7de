// Small random worlds: what decide answers against what brute force finds.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include <doctest/doctest.h>

#include <fheres/residency/explain.hpp>

#include "shorter.hpp"
#include "world.hpp"

using namespace fheres;
using namespace fheres::control;
using namespace fheres::control::testing;

namespace {

using residency::Action;
using residency::Materialization;
using residency::Refusal;
using residency::Transition;
using residency::ValueRecord;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }

 private:
  std::mt19937_64 engine_;
};

struct Puzzle {
  World world;
  Request request;
};

Puzzle random_puzzle(std::uint64_t seed) {
  Dice dice(seed);
  std::vector<Location> places{pinned, cuda0, dice.one_in(2) ? cuda1 : pageable};
  std::map<Location, Bytes> budgets;
  for (const Location at : places) {
    if (at == pageable ? dice.one_in(2) : !dice.one_in(6)) budgets[at] = kGranule * (2 + dice.below(9));
  }
  DeterministicTieredLRU::Tiers tiers;
  for (const Location from : places) {
    std::vector<Location> others;
    for (const Location to : places) {
      if (to != from && dice.one_in(2)) others.push_back(to);
    }
    if (dice.one_in(2)) std::reverse(others.begin(), others.end());
    if (!others.empty()) tiers[from] = others;
  }
  residency::CopyRules copies;
  if (dice.one_in(4)) copies.source_order = residency::SourceOrder::fastest;
  if (dice.one_in(3)) copies.peers = {{cuda0, cuda1}};
  Puzzle puzzle{World(budgets, tiers, {}, copies), {"r", {}, {}}};
  World& world = puzzle.world;

  const std::size_t count = 1 + dice.below(4);
  const Bytes usual = kGranule * (1 + dice.below(4));
  std::vector<HandleId> values;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = numbered("v", i);
    const Bytes bytes = dice.one_in(2) ? usual : kGranule * (1 + dice.below(8));
    const Location start = dice.pick(places);
    std::optional<HandleId> value;
    std::vector<HandleId> backings;
    for (const HandleId old : values) {
      const ValueRecord& record = world.state.record(old);
      if (!record.backing && !record.materializations.empty()) backings.push_back(old);
    }
    if (!backings.empty() && dice.one_in(3)) {
      value = world.put_backed(
          name, bytes, dice.pick(backings),
          dice.one_in(4) ? residency::ReplicaMode::exclusive : residency::ReplicaMode::replicable);
    } else if (dice.one_in(3)) {
      value = world.put_source(name, bytes, start);
    } else {
      const auto mode =
          dice.one_in(3) ? residency::ReplicaMode::exclusive : residency::ReplicaMode::replicable;
      const auto made = world.state.adopt(
          World::spec(name, bytes, mode, residency::Recoverability::must_preserve), start, bytes);
      if (const HandleId* adopted = std::get_if<HandleId>(&made)) value = *adopted;
    }
    if (!value) continue;
    for (const Location at : places) {
      const bool backed = world.state.record(*value).backing.has_value();
      if (dice.one_in(backed ? 5 : 2)) world.state.apply(residency::Ensure{*value, at, {}});
    }
    for (const Materialization& there : world.state.record(*value).materializations) {
      if (dice.one_in(6)) world.hold(*value, there.at);
    }
    if (dice.one_in(3)) world.metadata.set(*value, static_cast<std::int64_t>(dice.below(3)), {});
    if (dice.one_in(3)) world.metadata.touch(std::vector{*value});
    values.push_back(*value);
  }
  if (dice.one_in(4)) world.state.reserve({dice.pick(places), kGranule * dice.below(3), "others"});
  if (values.empty()) values.push_back(world.put("spare", kGranule, {Location::cuda(9)}));

  const std::size_t wanted = 1 + dice.below(3);
  for (std::size_t i = 0; i < wanted; ++i) {
    const Requirement next{dice.pick(values), dice.pick(places)};
    const bool exclusive =
        world.state.record(next.value).spec->replica_mode == residency::ReplicaMode::exclusive;
    const bool clash =
        std::any_of(puzzle.request.require.begin(), puzzle.request.require.end(),
                    [&](const auto& r) { return r == next || (exclusive && r.value == next.value); });
    if (!clash) puzzle.request.require.push_back(next);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (dice.one_in(3)) {
      puzzle.request.reserve.push_back(
          {dice.pick(places), kGranule * dice.below(4), numbered("reservation ", i)});
    }
  }
  return puzzle;
}

// Every situation that any sequence of legal steps reaches, in the order of bytes moved, by State's own rules and
// nothing of the planner.
class BruteForce {
 public:
  BruteForce(const State& start, const Request& request, const Policy& policy)
      : request_(request), policy_(policy) {
    visit(start, false, 0);
    while (!open_.empty() && !least_) {
      auto first = open_.begin();
      const Bytes cost = first->first;
      const Node node = std::move(first->second);
      open_.erase(first);
      if (!closed_.insert(key(node)).second) continue;
      if (node.reserved && all_there(node.state)) least_ = cost;
      expand(node, cost);
    }
  }
  bool served() const { return least_.has_value(); }
  std::optional<Bytes> least_bytes() const { return least_; }

 private:
  struct Node {
    State state;
    bool reserved;
  };

  static std::vector<std::size_t> key(const Node& node) {
    std::vector<std::size_t> key{node.reserved};
    for (const ValueRecord& record : node.state.records()) {
      for (const Materialization& there : record.materializations) key.push_back(there.at.index());
      key.push_back(Location::kCount);
    }
    return key;
  }

  bool all_there(const State& state) const {
    return std::all_of(request_.require.begin(), request_.require.end(),
                       [&](const Requirement& r) { return state.record(r.value).at(r.at) != nullptr; });
  }

  void visit(const State& state, bool reserved, Bytes cost) { open_.emplace(cost, Node{state, reserved}); }

  void try_action(const Node& node, const Action& action, Bytes cost) {
    State next = node.state;
    const auto result = next.apply(action);
    const Transition* done = std::get_if<Transition>(&result);
    if (done != nullptr && done->work != Transition::Work::nothing)
      visit(next, node.reserved, cost + done->bytes);
  }

  void expand(const Node& node, Bytes cost) {
    if (!node.reserved) {
      State next = node.state;
      const bool all = std::all_of(request_.reserve.begin(), request_.reserve.end(), [&](const auto& spec) {
        return std::holds_alternative<residency::ReservationId>(next.reserve(spec));
      });
      if (all) visit(next, true, cost);
    }
    for (std::uint64_t serial = 0; serial < node.state.records().size(); ++serial) {
      const HandleId value = node.state.handle(serial);
      for (const Materialization& there : node.state.records()[serial].materializations) {
        try_action(node, residency::Drop{value, there.at}, cost);
        for (const Location tier : policy_.fallback_tiers(there.at)) {
          try_action(node, residency::Move{value, tier, there.at}, cost);
        }
      }
    }
    if (!node.reserved) return;
    for (const Requirement& wanted : request_.require) {
      const bool exclusive =
          node.state.record(wanted.value).spec->replica_mode == residency::ReplicaMode::exclusive;
      if (exclusive) {
        try_action(node, residency::Move{wanted.value, wanted.at, {}}, cost);
      } else {
        try_action(node, residency::Ensure{wanted.value, wanted.at, {}}, cost);
      }
    }
  }

  const Request& request_;
  const Policy& policy_;
  std::set<std::vector<std::size_t>> closed_;
  std::multimap<Bytes, Node> open_;
  std::optional<Bytes> least_;
};

bool possible(const State& state, const Request& request, const Policy& policy) {
  return BruteForce(state, request, policy).served();
}

bool serves(const State& start, const Request& request, const residency::Plan& plan) {
  const residency::Simulation run = residency::simulate(start, plan);
  return run.explanation.feasible && plan.exit.empty() && plan.reservations == request.reserve &&
         std::all_of(request.require.begin(), request.require.end(),
                     [&](const Requirement& r) { return run.state.record(r.value).at(r.at) != nullptr; });
}

// The world that has only some lines of a conflict.
struct Restricted {
  State state;
  Request request;
};
Restricted restricted(const Puzzle& puzzle, const std::vector<Conflict>& lines) {
  Restricted result{puzzle.world.state, {"r", {}, {}}};
  State& state = result.state;
  const auto requested = [&](HandleId value) {
    return std::any_of(puzzle.request.require.begin(), puzzle.request.require.end(),
                       [&](const Requirement& r) { return r.value == value; });
  };
  for (std::uint64_t serial = state.records().size(); serial-- > 0;) {
    const HandleId value = state.handle(serial);
    const auto places = state.records()[serial].materializations;
    bool named =
        false;  // or what a named value is expanded from or kept for: it would not be the same without
    for (const Conflict& line : lines) {
      named =
          named || line.value == value ||
          (line.value && line.kind != Conflict::Kind::in_use &&
           (state.record(*line.value).backing == value || state.records()[serial].backing == *line.value));
    }
    for (const Materialization& there : places) {
      bool guarded = false;
      for (const Conflict& line : lines) {
        guarded = guarded || (line.value == value && line.kind != Conflict::Kind::requirement &&
                              (line.at == there.at || !requested(value)));
      }
      for (std::uint32_t i = 0; !guarded && i < there.protection.hold; ++i) {
        state.unprotect(value, there.at, State::Token::hold);
      }
    }
    if (!named) state.apply(residency::Discard{value});
  }
  for (const auto& record : puzzle.world.state.reservations()) {
    const bool named = std::any_of(lines.begin(), lines.end(),
                                   [&](const Conflict& c) { return c.reservation == record.id; });
    if (!named) state.release(record.id);
  }
  for (const Conflict& line : lines) {
    if (line.kind == Conflict::Kind::requirement) result.request.require.push_back({*line.value, line.at});
    if (line.kind != Conflict::Kind::reservation) continue;
    for (const auto& reservation : puzzle.request.reserve) {
      if (reservation.label == line.name) result.request.reserve.push_back(reservation);
    }
  }
  return result;
}

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// With `least`, an eviction may also be there for the bytes that it saves.
void check_decision(const Puzzle& puzzle, const Decision& decision, std::optional<Bytes> least = {}) {
  const State& state = puzzle.world.state;
  std::string text;
  for (const auto* part : {&decision.plan.reclaim, &decision.plan.enter}) {
    for (const Action& action : *part) {
      text += std::string(" ") + residency::verb_of(action) + " v" + std::to_string(value_of(action).serial) +
              " " + residency::location_of(action)->name() + ";";
    }
    text += " |";
  }
  INFO("plan:" << text);
  CHECK(serves(state, puzzle.request, decision.plan));
  for (const Eviction& eviction : decision.evictions) {
    CHECK_FALSE(eviction.reason().empty());
    std::size_t index = 0;
    const auto& reclaim = decision.plan.reclaim;
    const auto found = std::find(reclaim.begin(), reclaim.end(), eviction.action);
    if (found != reclaim.end()) {
      index = static_cast<std::size_t>(found - reclaim.begin());
    } else {
      const auto& enter = decision.plan.enter;
      index = reclaim.size() + static_cast<std::size_t>(
                                   std::find(enter.begin(), enter.end(), eviction.action) - enter.begin());
    }
    INFO(eviction.reason());
    const std::optional<residency::Plan> shorter = without(state, decision.plan, index);
    const bool dispensable = shorter && serves(state, puzzle.request, *shorter) &&
                             (!least || residency::explain(state, *shorter).moved_bytes() <= *least);
    CHECK_FALSE(dispensable);
  }
}

void check_infeasible(const Puzzle& puzzle, const Infeasible& answer) {
  CHECK(answer.irreducible);
  CHECK_FALSE(answer.conflict.empty());
  const Restricted all = restricted(puzzle, answer.conflict);
  CHECK_FALSE(possible(all.state, all.request, puzzle.world.policy));
  for (std::size_t i = 0; i < answer.conflict.size(); ++i) {
    std::vector<Conflict> fewer = answer.conflict;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    const Restricted rest = restricted(puzzle, fewer);
    INFO("without " << answer.conflict[i].text());
    CHECK(possible(rest.state, rest.request, puzzle.world.policy));
  }
}

}  // namespace

TEST_CASE(
    "R66: in random small worlds with backings every answer is what brute force finds, and so are the "
    "bytes") {
  const std::uint64_t first = setting("FHERES_SEED", 1);
  const std::uint64_t count = setting("FHERES_BACKING_WORLDS", 2000);
  std::uint64_t feasible = 0, evicting = 0, infeasible = 0, searched = 0, cheaper = 0, expanding = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    CAPTURE(seed);
    const Puzzle puzzle = random_puzzle(seed);
    const Outcome outcome = puzzle.world.decide(puzzle.request);
    const std::optional<Bytes> least =
        BruteForce(puzzle.world.state, puzzle.request, puzzle.world.policy).least_bytes();
    const bool can = least.has_value();
    CHECK(std::holds_alternative<Decision>(outcome) == can);
    CHECK(std::holds_alternative<Infeasible>(outcome) == !can);
    if (const auto* decision = std::get_if<Decision>(&outcome)) {
      ++feasible;
      evicting += decision->evictions.empty() ? 0 : 1;
      const auto& actions = decision->explanation.actions;
      expanding += std::any_of(actions.begin(), actions.end(),
                               [](const auto& action) { return action.expanded_from.has_value(); });
      check_decision(puzzle, *decision);
      if (decision->least_bytes) CHECK(decision->bytes_moved == *least);
      DecideOptions by_bytes;
      by_bytes.objective = Objective::bytes;
      const Decision cheapest = decision_or_throw(
          decide(puzzle.world.state, puzzle.request, puzzle.world.policy, puzzle.world.metadata, by_bytes));
      check_decision(puzzle, cheapest, least);
      CHECK(cheapest.least_bytes);
      CHECK(cheapest.bytes_moved == *least);
      cheaper += cheapest.bytes_moved < decision->bytes_moved ? 1 : 0;
    } else if (const auto* answer = std::get_if<Infeasible>(&outcome)) {
      ++infeasible;
      searched += answer->explored_states > 0 ? 1 : 0;
      INFO(answer->reason);
      check_infeasible(puzzle, *answer);
    }
  }
  MESSAGE("worlds " << count << " from seed " << first << ": " << feasible << " feasible, " << evicting
                    << " of them with evictions, " << expanding << " with expansions, " << infeasible
                    << " infeasible, " << searched << " of them by exhaustion; " << cheaper
                    << " with fewer bytes where that was asked for");
  CHECK(evicting > count / 50);
  CHECK(infeasible > count / 20);
  CHECK(expanding > count / 50);
}
