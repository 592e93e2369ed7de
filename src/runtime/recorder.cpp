#include "recorder.hpp"

#include <algorithm>
#include <utility>

#include <fheres/base/clock.hpp>

namespace fheres::runtime {

void Recorder::catch_up(residency::State state, residency::HandleId adopted, std::int64_t time_ns) {
  state_ = std::move(state);
  sample(time_ns);
  follow(adopted, time_ns);
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
  // An arrival is charged from its start; its end changes only what is charged beside it.
  const std::int64_t end_ns = transition.asynchronous ? transition.queued_ns : transition.end_ns;
  sample(end_ns);
  follow(residency::value_of(transition.action), end_ns);
}

void Recorder::note_actions(std::size_t stage, std::size_t actions, std::int64_t time_ns) {
  notes_.push_back({Note::Kind::actions, stage, actions, time_ns});
}

void Recorder::note_outputs(std::size_t stage, std::int64_t time_ns) {
  notes_.push_back({Note::Kind::outputs, stage, 0, time_ns});
}

void Recorder::note_end(std::size_t stage, std::int64_t time_ns) {
  notes_.push_back({Note::Kind::end, stage, 0, time_ns});
}

void Recorder::note_discard(residency::TransitionReport transition) {
  notes_.push_back({Note::Kind::discard, 0, 0, transition.start_ns});
  discards_.push_back(std::move(transition));
}

void Recorder::replay(const RunReport& report) {
  std::size_t seen = 0;
  for (const Note& note : notes_) {
    const StageRun& stage = report.stages[note.stage];
    switch (note.kind) {
      case Note::Kind::actions:
        replay_actions(stage, seen, note.actions, note.time_ns);
        seen = note.actions;
        break;
      case Note::Kind::outputs:
        replay_outputs(stage, note.time_ns);
        break;
      case Note::Kind::end:
        if (admitted_)
          for (const residency::ReservationId id : *admitted_) state_.release(id);
        admitted_.reset();
        seen = 0;
        settle_until(note.time_ns);
        sample(note.time_ns);
        break;
      case Note::Kind::discard:
        settle_until(note.time_ns);
        add(discards_.front());
        discards_.pop_front();
        break;
    }
  }
}

void Recorder::replay_actions(const StageRun& stage, std::size_t first, std::size_t last,
                              std::int64_t time_ns) {
  for (std::size_t i = first; i < last; ++i) {
    const residency::ActionReport& action = stage.report.actions[i];
    if (action.phase != residency::Phase::reclaim) admit(stage.report, action.transition.start_ns);
    settle_until(action.transition.start_ns);
    add(action.transition);
    if (action.transition.asynchronous && action.transition.destination)
      arrivals_.push_back({{residency::value_of(action.transition.action), *action.transition.destination},
                           action.transition.end_ns});
  }
  admit(stage.report, time_ns);
}

// They are admitted between reclaim and enter.
void Recorder::admit(const residency::PlanReport& report, std::int64_t time_ns) {
  if (admitted_) return;
  admitted_.emplace();
  for (const residency::ReservationSpec& spec : report.reservations) {
    const auto made = state_.reserve(spec);
    if (const auto* id = std::get_if<residency::ReservationId>(&made)) admitted_->push_back(*id);
  }
  if (!report.reservations.empty()) sample(time_ns);
}

void Recorder::replay_outputs(const StageRun& stage, std::int64_t time_ns) {
  settle_until(time_ns);
  std::vector<residency::HandleId> made;
  for (const residency::Production& item : stage.plan.produce) {
    if (!admitted_ || item.reservation >= admitted_->size()) continue;
    state_.adopt(item.value, item.at, state_.record(item.value).spec->logical_bytes,
                 (*admitted_)[item.reservation]);
    made.push_back(item.value);
  }
  sample(time_ns);
  std::sort(made.begin(), made.end());
  for (const residency::HandleId value : made) follow(value, time_ns);
}

void Recorder::settle_until(std::int64_t time_ns) {
  std::erase_if(arrivals_, [&](const Arrival& arrival) {
    if (arrival.end_ns > time_ns) return false;
    const residency::Materialization* item = state_.record(arrival.place.value).at(arrival.place.at);
    if (item != nullptr && item->arrival) {
      state_.settle(arrival.place.value, arrival.place.at);
      sample(arrival.end_ns);
    }
    return true;
  });
}

void Recorder::finish(std::int64_t time_ns, RunReport& report) {
  replay(report);
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

void Recorder::follow(residency::HandleId value, std::int64_t time_ns) {
  const residency::ValueRecord& record = state_.record(value);
  for (const residency::Materialization& item : record.materializations) {
    if (!open_.emplace(Key(value, item.at), lives_.size()).second) continue;
    lives_.push_back({record.spec->name, item.at, record.spec->storage_bytes, time_ns, time_ns});
  }
  for (auto it = open_.lower_bound({value, memory::Location::pageable_host()});
       it != open_.end() && it->first.first == value;) {
    if (record.at(it->first.second) != nullptr) {
      ++it;
    } else {
      lives_[it->second].end_ns = std::max(time_ns, lives_[it->second].start_ns);
      it = open_.erase(it);
    }
  }
}

}  // namespace fheres::runtime
