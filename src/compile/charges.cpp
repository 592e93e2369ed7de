#include "compile/charges.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "compile/transfers.hpp"

namespace fheres::compile {

using residency::ActionExplanation;
using residency::Phase;
using workload::Location;
using workload::ValueIndex;

/// Follows a rehearsal's charges action by action.
class Charges::Walk {
 public:
  Walk(const workload::Program& program, const workload::Rehearsal& rehearsal)
      : program_(program), rehearsal_(rehearsal), index_(program, rehearsal) {
    for (const auto& [at, budget] : program.world.budgets()) {
      rooms_[at].budget = budget;
      rooms_[at].stages.resize(rehearsal.stages.size());
    }
    for (const residency::LocationExplanation& location : rehearsal.placement.locations)
      charged_[location.at] = location.charged_after;
    for (ValueIndex i = 0; i < program.world.values.size(); ++i)
      for (const Location at : program.world.values[i].at) present_.insert({i, at});
  }

  std::map<Location, Room> run() {
    for (std::size_t s = 0; s < rehearsal_.stages.size(); ++s) play(s);
    return std::move(rooms_);
  }

 private:
  void play(std::size_t s) {
    const residency::Explanation& told = rehearsal_.stages[s].explanation;
    std::size_t next = 0;
    const auto run = [&](Phase phase, auto note) {
      for (; next < told.actions.size() && told.actions[next].phase == phase; ++next) {
        act(told.actions[next]);
        for (auto& [at, room] : rooms_) note(room.stages[s], meanwhile(at));
        temporary_.clear();
      }
    };
    const auto most_before = [](Stage& stage, Bytes now) { stage.before = std::max(stage.before, now); };
    const auto most_of_rest = [](Stage& stage, Bytes now) { stage.rest = std::max(stage.rest, now); };
    const auto note_all = [&](auto note) {
      for (auto& [at, room] : rooms_) note(room.stages[s], charged_[at]);
    };
    note_all(most_before);
    run(Phase::reclaim, most_before);
    for (const residency::ReservationExplanation& item : told.reservations)
      charged_[item.spec.at] += round_up_to_granule(item.spec.bytes);
    note_all(most_before);
    run(Phase::enter, [](Stage& stage, Bytes now) { stage.enter.push_back(now); });
    run(Phase::prefetch, most_of_rest);
    note_all(most_of_rest);
    // An output turns reserved bytes into used ones.
    for (const workload::Produced& item : program_.stages[s].produce) install(item.value, item.at);
    for (const residency::ReservationExplanation& item : told.reservations)
      charged_[item.spec.at] -= round_up_to_granule(item.spec.bytes);
    // Until exit is over they are still charged, beside what it does.
    reserved_left(s, told, true);
    run(Phase::exit, most_of_rest);
    reserved_left(s, told, false);
    for (const workload::Operand& released : program_.stages[s].release) discard(released.index);
  }

  /// What the outputs leave of the stage's reservations.
  void reserved_left(std::size_t s, const residency::Explanation& told, bool charge) {
    std::map<Location, std::pair<Bytes, Bytes>> sums;  // reserved, and adopted out of it
    for (const residency::ReservationExplanation& item : told.reservations)
      sums[item.spec.at].first += round_up_to_granule(item.spec.bytes);
    for (const workload::Produced& item : program_.stages[s].produce)
      sums[item.at].second += bytes_of(item.value);
    for (const auto& [at, sum] : sums) {
      const Bytes left = sum.first - std::min(sum.first, sum.second);
      charged_[at] = charge ? charged_[at] + left : charged_[at] - left;
    }
  }

  Bytes bytes_of(ValueIndex value) const { return program_.world.values[value].spec.storage_bytes; }

  Bytes meanwhile(Location at) {
    const auto more = temporary_.find(at);
    return charged_[at] + (more == temporary_.end() ? 0 : more->second);
  }

  void install(ValueIndex value, Location at) {
    if (present_.insert({value, at}).second) charged_[at] += bytes_of(value);
  }
  void remove(ValueIndex value, Location at) {
    if (present_.erase({value, at}) != 0) temporary_[at] += bytes_of(value), charged_[at] -= bytes_of(value);
  }
  void discard(ValueIndex value) {
    while (true) {
      const auto place = present_.lower_bound({value, Location::pageable_host()});
      if (place == present_.end() || place->first != value) return;
      charged_[place->second] -= bytes_of(value);
      present_.erase(place);
    }
  }

  /// What an action leaves charged, and in `temporary_` what is charged beside that while it runs.
  void act(const ActionExplanation& action) {
    if (action.no_op) return;
    const ValueIndex value = index_.of(residency::value_of(action.action));
    if (const auto* drop = std::get_if<residency::Drop>(&action.action)) return remove(value, drop->at);
    const Location to = *action.destination;
    install(value, to);
    if (action.temporary_bytes != 0)
      temporary_[action.expanded_from ? to : *action.source] += action.temporary_bytes;
    if (action.staged_bytes != 0) temporary_[Location::pinned_host()] += action.staged_bytes;
    if (std::holds_alternative<residency::Move>(action.action) && action.source && *action.source != to)
      remove(value, *action.source);
  }

  const workload::Program& program_;
  const workload::Rehearsal& rehearsal_;
  ValueTable index_;
  std::map<Location, Room> rooms_;
  std::map<Location, Bytes> charged_;
  std::map<Location, Bytes> temporary_;
  std::set<std::pair<ValueIndex, Location>> present_;
};

Charges::Charges(const workload::Program& program, const workload::Rehearsal& rehearsal)
    : rooms_(Walk(program, rehearsal).run()) {}

std::optional<std::size_t> Charges::reserve_ahead(const Ahead& item) {
  const auto found = rooms_.find(item.at);
  if (found == rooms_.end()) return item.wanted;
  Room& room = found->second;
  const auto fits = [&](Bytes charged, Bytes more) {
    return charged <= room.budget && more <= room.budget - charged;
  };
  const std::size_t last = std::min(item.removed, room.stages.size() - 1);
  // Each moment of a stage, in which the copy would be charged too.
  const auto before_fits = [&](std::size_t s) {
    const Stage& stage = room.stages[s];
    const std::size_t until = s == item.stage ? item.index : stage.enter.size();
    if (!fits(stage.before, item.charge + item.temporary)) return false;
    return std::all_of(stage.enter.begin(), stage.enter.begin() + static_cast<std::ptrdiff_t>(until),
                       [&](Bytes charged) { return fits(charged, item.charge + item.temporary); });
  };
  if (item.temporary != 0) {
    for (std::size_t s = item.stage; s <= last; ++s) {
      const Stage& stage = room.stages[s];
      const Bytes more = item.temporary;
      if (!fits(stage.rest, more)) return std::nullopt;
      if (s == item.stage) continue;
      if (!fits(stage.before, more)) return std::nullopt;
      for (const Bytes charged : stage.enter)
        if (!fits(charged, more)) return std::nullopt;
    }
  }
  std::size_t first = item.stage;
  while (first > item.wanted && before_fits(first) &&
         fits(room.stages[first - 1].rest, item.charge + item.temporary))
    --first;
  for (std::size_t s = first; s <= last; ++s) {
    Stage& stage = room.stages[s];
    const bool early = s < item.stage;
    stage.rest += (early ? item.charge : 0) + item.temporary;
    if (s == first) continue;
    const Bytes more = (s <= item.stage ? item.charge : 0) + item.temporary;
    stage.before += more;
    for (std::size_t i = 0; i < stage.enter.size(); ++i) {
      // From its own action on it was charged before.
      const bool charged = s == item.stage && i >= item.index;
      stage.enter[i] += charged ? more - item.charge : more;
    }
    if (s >= item.stage && item.temporary == 0) break;
  }
  return first;
}

}  // namespace fheres::compile
