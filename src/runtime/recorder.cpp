#include "recorder.hpp"

#include <algorithm>
#include <utility>

#include <fheres/base/clock.hpp>

namespace fheres::runtime {

void Recorder::catch_up(residency::State state, std::int64_t time_ns) {
  state_ = std::move(state);
  sample(time_ns);
  follow_lives(time_ns);
}

void Recorder::add(const residency::TransitionReport& transition) {
  if (transition.no_op()) return;
  for (const residency::ValuePlace& arrival : state_.arrivals_in_the_way(transition.action))
    state_.settle(arrival.value, arrival.at);
  auto begun = state_.begin(transition.action);
  const auto* ready = std::get_if<residency::Transition>(&begun);
  if (ready == nullptr) return;
  sample(transition.start_ns);
  if (ready->destination) {
    const Key key{residency::value_of(transition.action), *ready->destination};
    const residency::ValueSpec& spec = *state_.record(key.first).spec;
    if (open_.emplace(key, lives_.size()).second) {
      lives_.push_back({spec.name, key.second, spec.storage_bytes, transition.start_ns, transition.start_ns});
    }
  }
  state_.commit(*ready, state_.record(residency::value_of(transition.action)).spec->logical_bytes);
  sample(transition.end_ns);
  follow_lives(transition.end_ns);
}

void Recorder::add(const residency::PlanReport& report, std::size_t first_action) {
  bool reserved = first_action != 0;
  const auto admit = [&](std::int64_t time_ns) {
    if (std::exchange(reserved, true)) return;
    for (const residency::ReservationSpec& spec : report.reservations) state_.reserve(spec);
    if (!report.reservations.empty()) sample(time_ns);
  };
  for (std::size_t i = first_action; i < report.actions.size(); ++i) {
    if (report.actions[i].phase != residency::Phase::reclaim) admit(report.actions[i].transition.start_ns);
    add(report.actions[i].transition);
  }
  if (first_action == 0) admit(report.end_ns != 0 ? report.end_ns : now_ns());
}

void Recorder::finish(std::int64_t time_ns, RunReport& report) {
  for (const auto& [key, index] : open_) lives_[index].end_ns = std::max(time_ns, lives_[index].start_ns);
  open_.clear();
  std::stable_sort(lives_.begin(), lives_.end(),
                   [](const Life& a, const Life& b) { return a.start_ns < b.start_ns; });
  std::stable_sort(charges_.begin(), charges_.end(),
                   [](const ChargeSample& a, const ChargeSample& b) { return a.time_ns < b.time_ns; });
  report.lives = std::move(lives_);
  report.charges = std::move(charges_);
}

void Recorder::sample(std::int64_t time_ns) {
  for (const residency::Account& account : state_.accounts()) {
    ChargeSample now{time_ns, account.at, account.used, account.reserved, account.budget};
    const auto last = last_.find(account.at);
    if (last != last_.end() && last->second == std::pair(now.used, now.reserved)) continue;
    last_.insert_or_assign(account.at, std::pair(now.used, now.reserved));
    charges_.push_back(std::move(now));
  }
}

std::vector<Recorder::Key> Recorder::present() const {
  std::vector<Key> keys;
  for (std::uint64_t serial = 0; serial < state_.records().size(); ++serial) {
    for (const residency::Materialization& item : state_.records()[serial].materializations) {
      keys.emplace_back(state_.handle(serial), item.at);
    }
  }
  return keys;
}

void Recorder::follow_lives(std::int64_t time_ns) {
  const std::vector<Key> keys = present();
  for (const Key& key : keys) {
    if (!open_.emplace(key, lives_.size()).second) continue;
    const residency::ValueSpec& spec = *state_.record(key.first).spec;
    lives_.push_back({spec.name, key.second, spec.storage_bytes, time_ns, time_ns});
  }
  for (auto it = open_.begin(); it != open_.end();) {
    if (std::binary_search(keys.begin(), keys.end(), it->first)) {
      ++it;
    } else {
      lives_[it->second].end_ns = std::max(time_ns, lives_[it->second].start_ns);
      it = open_.erase(it);
    }
  }
}

}  // namespace fheres::runtime
