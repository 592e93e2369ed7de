#include "next_steps.hpp"

#include <algorithm>

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

void make_room(const Problem& problem, Classes& classes, const State& now, Location at, bool staged,
               std::vector<Step>& found) {
  const bool budgeted = budget_of(now, at).has_value();
  std::vector<std::uint64_t> tried;  // one of each kind of interchangeable victims is enough
  for (const HandleId value : problem.victims(now, at, true)) {
    if (!budgeted && !problem.requested(value)) continue;  // who leaves only frees staging for itself
    const std::uint64_t kind = classes.kind(now, value);
    if (std::find(tried.begin(), tried.end(), kind) != tried.end()) continue;
    tried.push_back(kind);
    const ValueRecord& record = now.record(value);
    const bool last = record.materializations.size() == 1;
    if (!last || !must_preserve(record)) {
      found.push_back({.kind = Step::Kind::evict, .value = value, .at = at});
    }
    // A spare replica, or a rebuildable value that nobody asked for, has no reason to go anywhere; but where copies are
    // staged a replica that is asked for may go there while it still can go directly.
    const bool spare = !last && !(staged && problem.requested(value));
    if (spare || (!must_preserve(record) && !problem.requested(value))) continue;
    for (const Location tier : problem.tiers(at)) {
      found.push_back({.kind = Step::Kind::evict, .value = value, .at = at, .to = tier});
    }
  }
}

}  // namespace

void take_harmless_evictions(const Problem& problem, Run& run, bool moves) {
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
      if (!moves) continue;
      for (const Location tier : problem.tiers(account.at)) {
        if (budgeted(tier)) continue;
        if (!run.take({.kind = Step::Kind::evict, .value = value, .at = account.at, .to = tier})) break;
      }
    }
  }
}

std::vector<Step> next_steps(const Problem& problem, Classes& classes, Trial& trial) {
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
    for (const Requirement& wanted : problem.request.require) {
      if (trial.state().record(wanted.value).at(wanted.at) != nullptr) continue;
      go_on({.kind = Step::Kind::place, .value = wanted.value, .at = wanted.at});
    }
  }
  const bool staged = problem.copies_are_staged();
  if (lacking) make_room(problem, classes, trial.state(), *lacking, staged, found);
  for (const residency::Account& account : trial.state().accounts()) {
    if ((account.budget || (staged && account.at.is_cuda())) && account.at != lacking)
      make_room(problem, classes, trial.state(), account.at, staged, found);
  }
  return found;
}

}  // namespace fheres::control
