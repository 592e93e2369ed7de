#include "exhaustive.hpp"

#include <algorithm>
#include <unordered_set>

#include "interchange.hpp"
#include "trial.hpp"

namespace fheres::control {
namespace {

using residency::Materialization;
using residency::Recoverability;
using residency::Refusal;
using residency::State;
using residency::ValueRecord;

bool must_preserve(const ValueRecord& record) {
  return record.spec->recoverability == Recoverability::must_preserve;
}

// Evictions that no plan can regret: a value that the request does not need leaves its budgeted locations, where
// it survives elsewhere or can be rebuilt. Any plan works as well without it.
void take_harmless_evictions(const Problem& problem, Run& run) {
  const State& state = problem.state;
  const auto budgeted = [&](Location at) { return budget_of(state, at).has_value(); };
  for (const residency::Account& account : state.accounts()) {
    if (!account.budget) continue;
    for (const HandleId value : problem.victims(run.state(), account.at, false)) {
      if (problem.requested(value)) continue;
      const ValueRecord& now = run.state().record(value);
      const bool survives =
          std::any_of(now.materializations.begin(), now.materializations.end(),
                      [&](const Materialization& m) { return m.protection.any() || !budgeted(m.at); });
      if (survives || !must_preserve(now)) {
        run.take({.kind = Step::Kind::evict, .value = value, .at = account.at});
        continue;
      }
      for (const Location tier : problem.tiers(account.at)) {
        if (budgeted(tier)) continue;
        if (!run.take({.kind = Step::Kind::evict, .value = value, .at = account.at, .to = tier})) break;
      }
    }
  }
}

class Search {
 public:
  Search(const Problem& problem, Run& run, std::uint64_t limit, std::uint64_t& explored)
      : problem_(problem), run_(run), limit_(limit), explored_(explored) {}

  Verdict go() {
    Trial trial(problem_, run_.state());
    seen_.insert(classes_.situation(trial.state(), trial.reserved()));
    std::vector<Frame> frames;
    frames.push_back({moves(trial)});
    if (!count()) return Verdict::limit_reached;
    while (!frames.empty()) {
      Frame& top = frames.back();
      if (top.next == top.moves.size()) {
        frames.pop_back();
        if (!frames.empty()) trial.undo();
        continue;
      }
      const Step step = top.moves[top.next++];
      if (trial.take(step)) continue;
      if (trial.served()) return replay(trial.path());
      if (!seen_.insert(classes_.situation(trial.state(), trial.reserved())).second) {
        trial.undo();
        continue;
      }
      if (!count()) return Verdict::limit_reached;
      frames.push_back({moves(trial)});
    }
    return Verdict::impossible;
  }

 private:
  struct Frame {
    std::vector<Step> moves;
    std::size_t next = 0;
  };

  const State& harmless_evictions_taken() {
    take_harmless_evictions(problem_, run_);
    return run_.state();
  }

  bool count() { return ++explored_ <= limit_; }

  Verdict replay(const std::vector<Step>& path) {
    run_.take_all(path);
    return Verdict::served;
  }

  // What may be done next, best first: go on with the request, else make room, first where room is lacking.
  std::vector<Step> moves(Trial& trial) {
    std::vector<Step> found;
    std::optional<Location> lacking;
    const auto go_on = [&](const Step& step) {
      const std::optional<Refusal> refusal = trial.refusal_of(step);
      if (!refusal) {
        found.push_back(step);
      } else if (!lacking && refusal->rule == Refusal::Rule::budget) {
        lacking = refusal->at;
      }
    };
    if (!trial.reserved()) {
      const Step reserve{.kind = Step::Kind::reserve};
      if (const std::optional<Refusal> refusal = trial.take(reserve)) {
        lacking = refusal->at;
      } else {
        trial.undo();
        found.push_back(reserve);
      }
    } else {
      for (const Requirement& wanted : problem_.request.require) {
        if (trial.state().record(wanted.value).at(wanted.at) != nullptr) continue;
        go_on({.kind = Step::Kind::place, .value = wanted.value, .at = wanted.at});
      }
    }
    if (lacking) make_room(trial.state(), *lacking, found);
    for (const residency::Account& account : trial.state().accounts()) {
      if (account.budget && account.at != lacking) make_room(trial.state(), account.at, found);
    }
    return found;
  }

  void make_room(const State& now, Location at, std::vector<Step>& found) {
    std::vector<std::uint64_t> tried;  // one of each kind of interchangeable victims is enough
    for (const HandleId value : problem_.victims(now, at, true)) {
      const std::uint64_t kind = classes_.kind(now, value);
      if (std::find(tried.begin(), tried.end(), kind) != tried.end()) continue;
      tried.push_back(kind);
      const ValueRecord& record = now.record(value);
      const bool last = record.materializations.size() == 1;
      if (!last || !must_preserve(record)) {
        found.push_back({.kind = Step::Kind::evict, .value = value, .at = at});
      }
      // A spare replica, or a rebuildable value that nobody asked for, has no reason to go anywhere.
      if (!last || (!must_preserve(record) && !problem_.requested(value))) continue;
      for (const Location tier : problem_.tiers(at)) {
        found.push_back({.kind = Step::Kind::evict, .value = value, .at = at, .to = tier});
      }
    }
  }

  const Problem& problem_;
  Run& run_;
  const std::uint64_t limit_;
  std::uint64_t& explored_;
  Classes classes_{problem_, harmless_evictions_taken()};
  std::unordered_set<Situation, SituationHash> seen_;
};

}  // namespace

Verdict search_exhaustively(const Problem& problem, Run& run, std::uint64_t limit, std::uint64_t& explored) {
  return Search(problem, run, limit, explored).go();
}

}  // namespace fheres::control
