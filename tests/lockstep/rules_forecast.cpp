// What a plan will do, by the rules alone (R39, R40).
#include "lockstep/rules.hpp"

namespace fheres::lockstep {
void Rules::run_phase(const std::vector<Action>& actions, const std::string& phase, Forecast& into) {
  for (std::size_t i = 0; i < actions.size() && into.feasible; ++i) {
    for (const std::uint64_t arrival : arrivals_in_the_way(actions[i])) settle(arrival);
    Expectation expected = judge(actions[i]);
    if (expected.allowed() && !expected.has_piece) expected.refusals.insert(kBudget);  // R27
    if (!expected.allowed()) {
      into.feasible = false;
      into.where = phase + " " + std::to_string(i);
      into.refusals = expected.refusals;
      return;
    }
    expected.compacted = carry_out(actions[i], expected, expected.block);
    into.actions.push_back(expected);
  }
}

Forecast Rules::forecast(const Plan& plan) const {
  Rules copy = *this;
  copy.restart_peaks();
  Forecast result;
  copy.run_phase(plan.reclaim, "reclaim", result);
  constexpr std::uint64_t kOwnKeys = std::uint64_t{1} << 40;  // above every live reservation
  for (std::size_t i = 0; i < plan.reservations.size() && result.feasible; ++i) {
    const residency::ReservationSpec& spec = plan.reservations[i];
    if (!present(spec.at) || !copy.admits(spec.at, rounded(spec.bytes))) {
      result.feasible = false;
      result.where = "reserve " + std::to_string(i);
      result.refusals = {kBudget};
    } else {
      copy.reserve(kOwnKeys + i, spec.at, spec.bytes, spec.label);
    }
  }
  copy.run_phase(plan.enter, "enter", result);
  copy.run_phase(plan.prefetch, "prefetch", result);
  copy.produce(plan, kOwnKeys, result);
  for (const residency::ValuePlace& read : plan.reads)
    if (const auto arrival = copy.arrival_at(read); arrival && result.feasible) copy.settle(*arrival);
  copy.run_phase(plan.exit, "exit", result);
  for (std::size_t i = 0; i < plan.reservations.size(); ++i) copy.release(kOwnKeys + i);
  for (const auto& [at, peak] : copy.peaks_) {
    result.peaks[at] = peak.charged;
    result.after[at] = copy.charged(at);
  }
  return result;
}

bool Rules::can_produce(const residency::Production& production, std::uint64_t reservation) const {
  if (!handle_is_good(production.value.serial) || !values_[production.value.serial].announced) return false;
  const auto room = reservations_.find(reservation);
  return room != reservations_.end() && room->second.at == production.at &&
         room->second.available() >= values_[production.value.serial].spec.storage_bytes;
}

// R38, R39: what the body makes turns reserved bytes into used ones, and then exit may act on it. First it carves the
// blocks (R27).
void Rules::produce(const Plan& plan, std::uint64_t first_key, Forecast& into) {
  std::vector<std::optional<Bytes>> made;
  const auto stop = [&](std::size_t i, std::set<std::string> refusals) {
    into.feasible = false;
    into.where = "produce " + std::to_string(i);
    into.refusals = std::move(refusals);
  };
  for (std::size_t i = 0; i < plan.produce.size() && into.feasible; ++i) {
    const residency::Production& production = plan.produce[i];
    const Location at = plan.reservations[production.reservation].at;
    const bool good = handle_is_good(production.value.serial);
    const Bytes bytes = good ? values_[production.value.serial].spec.logical_bytes : 0;
    if (!has_piece(at, bytes)) return stop(i, {kBudget});
    made.push_back(take(at, bytes));
  }
  for (std::size_t i = 0; i < plan.produce.size() && into.feasible; ++i) {
    const residency::Production& production = plan.produce[i];
    if (!can_produce(production, first_key + production.reservation)) return stop(i, {});
    RuleValue& value = values_[production.value.serial];
    reservations_.at(first_key + production.reservation).left -= value.spec.storage_bytes;
    RuleCopy copy;
    copy.actual = value.spec.logical_bytes;
    copy.offset = made[i];
    value.copies.emplace(production.at, std::move(copy));
    value.announced = false;
    note(production.at, 0, 0);
  }
}

Forecast Rules::forecast(const std::vector<Action>& actions) const {
  Rules copy = *this;
  copy.restart_peaks();
  Forecast result;
  copy.run_phase(actions, "execute", result);
  for (const auto& [at, peak] : copy.peaks_) {
    result.peaks[at] = peak.charged;
    result.after[at] = copy.charged(at);
  }
  return result;
}

}  // namespace fheres::lockstep
