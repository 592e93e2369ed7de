// Small random worlds: what decide answers against brute force, and against policy order done naively.
// FHERES_WORLDS, FHERES_WORLD_VALUES and FHERES_SEED say how many, how large, and from which seed.
#include <algorithm>
#include <cstdlib>

#include <doctest/doctest.h>

#include <fheres/residency/explain.hpp>

#include "board.hpp"
#include "control/exhaustive.hpp"
#include "control/greedy.hpp"
#include "policy_order.hpp"
#include "puzzle.hpp"
#include "shorter.hpp"
#include "support/random.hpp"

using namespace fheres;
using namespace fheres::control;
using namespace fheres::control::testing;

namespace {

using residency::Action;
using residency::Refusal;

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

Board board_of(const Puzzle& puzzle) {
  return Board(puzzle.world.state, puzzle.request, puzzle.world.policy);
}

std::string text_of(const Action& action) {
  std::string text = std::string(" ") + residency::verb_of(action) + " v" +
                     std::to_string(value_of(action).serial) + " " + residency::location_of(action)->name();
  if (const auto* move = std::get_if<residency::Move>(&action); move != nullptr && move->from)
    text += " from " + move->from->name();
  return text;
}

struct Sequence {
  std::vector<Action> reclaim, enter;
  friend bool operator==(const Sequence&, const Sequence&) = default;

  std::string text() const {
    std::string said;
    for (const Action& action : reclaim) said += text_of(action) + ";";
    said += " |";
    for (const Action& action : enter) said += text_of(action) + ";";
    return said;
  }
};

// The board's line as a plan: what comes before the reservations, and what after them.
Sequence sequence_of(const Board& board, const PolicyOrder::Line& line) {
  Sequence sequence;
  Board::Position now = board.start();
  bool reserved = false;
  for (const Board::Move& move : line) {
    if (move.kind == Board::Move::Kind::reserve) {
      reserved = true;
    } else {
      (reserved ? sequence.enter : sequence.reclaim).push_back(board.action_of(now, move));
    }
    now = board.make(now, move).next.value_or(now);
  }
  return sequence;
}

Step step_of(const Puzzle& puzzle, const Board& board, const Board::Move& move) {
  using Kind = Board::Move::Kind;
  if (move.kind == Kind::reserve) return {.kind = Step::Kind::reserve};
  Step step{.kind = move.kind == Kind::place ? Step::Kind::place : Step::Kind::evict,
            .value = puzzle.world.state.handle(move.value),
            .at = board.places()[move.at].at};
  if (move.kind == Kind::offload) step.to = board.places()[move.to].at;
  return step;
}

std::vector<Step> steps_of(const Puzzle& puzzle, const Board& board, const PolicyOrder::Line& line) {
  std::vector<Step> steps;
  for (const Board::Move& move : line) steps.push_back(step_of(puzzle, board, move));
  return steps;
}

// R58: the planner's first complete sequence, before anything is left out, is the one that the words say; and what is
// left of it, the plan (R59).
void check_order(const Puzzle& puzzle, const Board& board, const Decision& decision,
                 std::uint64_t& searched) {
  const Problem problem(puzzle.world.state, puzzle.request, puzzle.world.policy, puzzle.world.metadata);
  const PolicyOrder order(board, puzzle.world.state, puzzle.world.metadata);
  Run run(problem);
  std::uint64_t explored = 0;
  std::optional<Location> lacking;
  const bool direct = greedy(problem, run, explored, lacking);
  const std::optional<PolicyOrder::Line> direct_line = order.direct();
  REQUIRE(direct == direct_line.has_value());
  std::optional<PolicyOrder::Line> line = direct_line;
  if (!direct) {
    ++searched;
    run = Run(problem);
    REQUIRE(search_exhaustively(problem, run, 1'000'000, explored) == Verdict::served);
    line = order.searched(1'000'000);
    REQUIRE(line.has_value());
  }
  const auto text = [&](const std::vector<Step>& steps) {
    std::string said;
    for (const Step& step : steps)
      said += (step.kind == Step::Kind::reserve ? " reserve"
               : step.kind == Step::Kind::place ? " +v"
                                                : " -v") +
              std::to_string(step.value.serial) + " " + step.at.name() +
              (step.to ? " to " + step.to->name() : "") + ";";
    return said;
  };
  CHECK(text(run.way().steps) == text(steps_of(puzzle, board, *line)));
  const PolicyOrder::Line tidy = direct ? order.tidied(*line) : order.tidied_with_earlier_tiers(*line);
  const Sequence expected = sequence_of(board, tidy);
  const Sequence planned{decision.plan.reclaim, decision.plan.enter};
  INFO("expected:" << expected.text() << " planned:" << planned.text());
  CHECK(planned == expected);
}

bool serves(const Puzzle& puzzle, const residency::Plan& plan) {
  const residency::Simulation run = residency::simulate(puzzle.world.state, plan);
  return run.explanation.feasible && plan.exit.empty() && plan.reservations == puzzle.request.reserve &&
         std::all_of(puzzle.request.require.begin(), puzzle.request.require.end(),
                     [&](const Requirement& r) { return run.state.record(r.value).at(r.at) != nullptr; });
}

void check_decision(const Puzzle& puzzle, const Decision& decision) {
  INFO("plan:" << Sequence{decision.plan.reclaim, decision.plan.enter}.text());
  CHECK(serves(puzzle, decision.plan));
  std::size_t known = 0;
  for (std::size_t i = 0; i < decision.plan.reclaim.size() + decision.plan.enter.size(); ++i) {
    const std::size_t entered = i - decision.plan.reclaim.size();
    const Action& action =
        i < decision.plan.reclaim.size() ? decision.plan.reclaim[i] : decision.plan.enter[entered];
    if (known == decision.evictions.size() || !(decision.evictions[known].action == action)) continue;
    INFO(decision.evictions[known].reason());
    ++known;
    const std::optional<residency::Plan> shorter = without(puzzle.world.state, decision.plan, i);
    CHECK_FALSE((shorter && serves(puzzle, *shorter)));
  }
  CHECK(known == decision.evictions.size());
}

struct Tally {
  std::uint64_t feasible = 0, evicting = 0, searched = 0, cheaper = 0, infeasible = 0, exhausted = 0;
  std::uint64_t inconclusive = 0, too_large = 0, positions = 0;
};

// Worlds of this many positions are too large for brute force.
constexpr std::size_t kPositions = 1u << 26;

void check_infeasible(const Puzzle& puzzle, const Infeasible& answer, Tally& tally) {
  CHECK(answer.irreducible);
  CHECK_FALSE(answer.conflict.empty());
  const auto possible = [&](const std::vector<Conflict>& lines) {
    const BruteForce brute = brute_force(board_of(restricted(puzzle, lines)), kPositions);
    tally.too_large += brute.gave_up ? 1 : 0;
    return brute.least.has_value();
  };
  CHECK_FALSE(possible(answer.conflict));
  for (std::size_t i = 0; i < answer.conflict.size(); ++i) {
    std::vector<Conflict> fewer = answer.conflict;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    INFO("without " << answer.conflict[i].text());
    CHECK(possible(fewer));
  }
}

// With a lower limit the answer is the same, or there is none and the limit was reached.
void check_limit(const Puzzle& puzzle, std::uint64_t limit, const Outcome& outcome) {
  DecideOptions options;
  options.search_state_limit = limit;
  const Outcome limited =
      decide(puzzle.world.state, puzzle.request, puzzle.world.policy, puzzle.world.metadata, options);
  if (const auto* open = std::get_if<Inconclusive>(&limited)) {
    CHECK(open->limit == limit);
    CHECK(open->explored_states == limit);
    return;
  }
  REQUIRE(limited.index() == outcome.index());
  if (const auto* decision = std::get_if<Decision>(&limited))
    CHECK(decision->plan == std::get<Decision>(outcome).plan);
}

void check_world(const Puzzle& puzzle, std::uint64_t seed, Tally& tally) {
  const Outcome outcome = puzzle.world.decide(puzzle.request);
  const Board board = board_of(puzzle);
  const BruteForce brute = brute_force(board, kPositions);
  tally.positions += brute.positions;
  if (brute.gave_up) {
    ++tally.too_large;
    MESSAGE("too large for brute force: seed " << seed);
    return;
  }
  if (const auto* open = std::get_if<Inconclusive>(&outcome)) {
    ++tally.inconclusive;
    CHECK(open->explored_states == open->limit);
    return;
  }
  check_limit(puzzle, 1 + seed % 7, outcome);
  CHECK(std::holds_alternative<Decision>(outcome) == brute.least.has_value());
  if (const auto* decision = std::get_if<Decision>(&outcome)) {
    if (!brute.least) return;
    ++tally.feasible;
    tally.evicting += decision->evictions.empty() ? 0 : 1;
    check_decision(puzzle, *decision);
    check_order(puzzle, board, *decision, tally.searched);
    if (decision->least_bytes) CHECK(decision->bytes_moved == *brute.least);
    DecideOptions by_bytes;
    by_bytes.objective = Objective::bytes;
    const Decision cheapest = decision_or_throw(
        decide(puzzle.world.state, puzzle.request, puzzle.world.policy, puzzle.world.metadata, by_bytes));
    check_decision(puzzle, cheapest);
    CHECK(cheapest.least_bytes);
    CHECK(cheapest.bytes_moved == *brute.least);
    tally.cheaper += cheapest.bytes_moved < decision->bytes_moved ? 1 : 0;
  } else if (const auto* answer = std::get_if<Infeasible>(&outcome)) {
    ++tally.infeasible;
    tally.exhausted += answer->explored_states > 0 ? 1 : 0;
    INFO(answer->reason);
    check_infeasible(puzzle, *answer, tally);
  }
}

}  // namespace

TEST_CASE(
    "R57 R58 R59 R60 in random small worlds every answer is what brute force finds, and so are order and "
    "bytes") {
  const std::uint64_t first = setting("FHERES_SEED", 1);
  const std::uint64_t count = setting("FHERES_WORLDS", 10'000);
  const std::uint64_t values = setting("FHERES_WORLD_VALUES", 4);
  Tally tally;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    CAPTURE(seed);
    check_world(random_puzzle(seed, values), seed, tally);
  }
  MESSAGE("worlds " << count << " of up to " << values << " values from seed " << first << ": "
                    << tally.feasible << " feasible, " << tally.evicting << " of them with evictions, "
                    << tally.searched << " by the search, " << tally.cheaper
                    << " with fewer bytes where that was asked for; " << tally.infeasible << " infeasible, "
                    << tally.exhausted << " of them by exhaustion; " << tally.inconclusive
                    << " inconclusive, " << tally.too_large << " too large for brute force, "
                    << tally.positions << " positions");
  CHECK(tally.inconclusive == 0);
  CHECK(tally.too_large == 0);
  if (count < 1000) return;  // a few need not have everything
  CHECK(tally.evicting > count / 50);
  CHECK(tally.searched > count / 500);
  CHECK(tally.cheaper > count / 1000);
  CHECK(tally.infeasible > count / 20);
  CHECK(tally.exhausted > count / 500);
}

TEST_CASE("R57 the rules that brute force goes by are State's, along random walks") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    const Puzzle puzzle = random_puzzle(seed, 6);
    const Board board = board_of(puzzle);
    test::Random dice(seed);
    State state = puzzle.world.state;
    Board::Position now = board.start();
    for (int step = 0; step < 30; ++step) {
      using Kind = Board::Move::Kind;
      Board::Move move{.kind = static_cast<Kind>(dice.below(4)),
                       .value = dice.below(board.values().size()),
                       .at = dice.below(board.places().size()),
                       .to = dice.below(board.places().size())};
      if (move.kind == Kind::reserve || state.records()[move.value].discarded) continue;
      if (move.kind == Kind::offload && move.at == move.to) continue;
      const Board::Result expected = board.make(now, move);
      const Action action = board.action_of(now, move);
      CAPTURE(text_of(action));
      const auto result = state.apply(action);
      const auto* done = std::get_if<residency::Transition>(&result);
      const bool changed = done != nullptr && done->work != residency::Transition::Work::nothing;
      REQUIRE(changed == expected.next.has_value());
      if (const auto* refusal = std::get_if<Refusal>(&result)) {
        REQUIRE((refusal->rule == Refusal::Rule::budget) == expected.lacking.has_value());
        if (expected.lacking) REQUIRE(refusal->at == board.places()[*expected.lacking].at);
      }
      if (!changed) continue;
      REQUIRE(done->bytes == expected.moved);
      now = *expected.next;
    }
  }
}
