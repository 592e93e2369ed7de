// begin, commit, abort: the only place where placement changes.
#include <algorithm>

#include <fheres/base/check.hpp>
#include <fheres/memory/bandwidth.hpp>
#include <fheres/residency/state.hpp>

namespace fheres::residency {
namespace {

using Rule = Refusal::Rule;
using Work = Transition::Work;

bool removed_elsewhere(const Transition& t) { return t.work == Work::copy && t.removes_source; }

}  // namespace

std::optional<Refusal> State::protected_at(HandleId value, const Materialization& where) const {
  if (!where.protection.any()) return std::nullopt;
  return Refusal{.rule = Rule::in_use, .value = value, .at = where.at, .counts = where.protection};
}

// What a copy to `to` reads: the one that was named, else the first in location order (R13), or the fastest (R14).
const Materialization* State::source_of(const ValueRecord& record, Location to,
                                        std::optional<Location> from) const {
  if (from) return record.at(*from);
  const Materialization* best = nullptr;
  for (const Materialization& m : record.materializations) {
    if (m.at == to) continue;
    if (copies_.source_order == SourceOrder::location_order) return &m;
    const auto speed = [&](Location end) { return memory::known_bandwidth(end, to).value_or(0); };
    if (best == nullptr || speed(m.at) > speed(best->at)) best = &m;
  }
  return best;
}

std::variant<Transition, Refusal> State::resolve(const Action& action) const {
  if (const HandleId value = value_of(action); !is_live(value)) return *check(value);
  if (const auto* drop = std::get_if<Drop>(&action)) return resolve_drop(*drop);
  if (const auto* discard = std::get_if<Discard>(&action)) return resolve_discard(*discard);
  Transition transition;
  transition.action = action;
  transition.destination = location_of(action);
  const auto* ensure = std::get_if<Ensure>(&action);
  return resolve_install(std::move(transition), ensure ? ensure->from : std::get<Move>(action).from);
}

std::variant<Transition, Refusal> State::resolve_install(Transition t, std::optional<Location> from) const {
  const HandleId value = value_of(t.action);
  const ValueRecord& record = values_[value.serial];
  const Location to = *t.destination;
  const bool moves = std::holds_alternative<Move>(t.action);

  if (!present(to)) return Refusal{.rule = Rule::absent_location, .value = value, .at = to};
  if (from && record.at(*from) == nullptr)  // R13, also where nothing would be done
    return Refusal{.rule = Rule::unavailable, .value = value, .at = *from};

  const Materialization* source = source_of(record, to, from);

  if (record.at(to) != nullptr) {
    if (!moves) {  // R9
      t.no_op_reason = "already there";
      return t;
    }
    if (source == nullptr || source->at == to) {  // R10
      t.no_op_reason = source == nullptr ? "only there" : "the source is the destination";
      return t;
    }
    if (auto refusal = protected_at(value, *source)) return *refusal;  // R35
    t.work = Work::remove;
    t.source = source->at;
    t.removes_source = true;
    return t;
  }

  if (!moves && record.spec->replica_mode == ReplicaMode::exclusive && !record.materializations.empty())
    return Refusal{
        .rule = Rule::exclusive_elsewhere, .value = value, .at = record.materializations.front().at};

  const auto* ensure = std::get_if<Ensure>(&t.action);
  t.asynchronous = ensure != nullptr && ensure->asynchronous;
  if (t.asynchronous) {  // R21: a pageable end would block the host
    const std::optional<Location> read = source != nullptr ? source->at : record.source;
    for (const Location end : {read.value_or(to), to})
      if (end == Location::pageable_host())
        return Refusal{.rule = Rule::pageable_end, .value = value, .at = end};
    if (source == nullptr)
      return Refusal{.rule = Rule::pageable_end, .value = value, .at = read.value_or(to)};
  }

  t.charge = record.spec->storage_bytes;
  if (source != nullptr) {
    t.work = Work::copy;
    t.source = source->at;
    t.bytes = source->actual_bytes;
    t.removes_source = moves;
    if (moves)
      if (auto refusal = protected_at(value, *source)) return *refusal;  // R35
  } else if (!record.source) {                                           // announced, and not adopted yet
    return Refusal{.rule = Rule::unavailable, .value = value, .at = to};
  } else {
    t.work = Work::load;
    t.source = record.source;
    t.bytes = record.spec->logical_bytes;
    t.temporary = *record.source == to ? 0 : record.spec->storage_bytes;  // R16
  }
  if (t.source->is_cuda() && to.is_cuda() && *t.source != to && !copies_.are_peers(*t.source, to))
    t.staging = record.spec->storage_bytes;  // R64
  if (auto refusal = admit(to, t.charge)) {
    refusal->value = value;
    return *refusal;
  }
  if (t.temporary != 0) {
    if (auto refusal = admit(*t.source, t.temporary)) {
      refusal->value = value;
      return *refusal;
    }
  }
  if (t.staging != 0) {
    if (auto refusal = admit(Location::pinned_host(), t.staging)) {
      refusal->value = value;
      return *refusal;
    }
  }
  return t;
}

std::variant<Transition, Refusal> State::resolve_drop(const Drop& action) const {
  const ValueRecord& record = values_[action.value.serial];
  if (!present(action.at))
    return Refusal{.rule = Rule::absent_location, .value = action.value, .at = action.at};
  Transition t;
  t.action = action;
  const Materialization* there = record.at(action.at);
  if (there == nullptr) {  // R11
    t.no_op_reason = "not there";
    return t;
  }
  if (record.materializations.size() == 1 && record.spec->recoverability == Recoverability::must_preserve)
    return Refusal{.rule = Rule::last_copy, .value = action.value, .at = action.at};  // R11
  if (auto refusal = protected_at(action.value, *there)) return *refusal;             // R35
  t.work = Work::remove;
  t.source = action.at;
  t.removes_source = true;
  return t;
}

std::variant<Transition, Refusal> State::resolve_discard(const Discard& action) const {
  for (const Materialization& m : values_[action.value.serial].materializations)  // R12, R35
    if (auto refusal = protected_at(action.value, m)) return *refusal;
  Transition t;
  t.action = action;
  t.work = Work::remove;
  return t;
}

std::variant<Transition, Refusal> State::begin(const Action& action) {
  auto resolved = resolve(action);
  const auto* t = std::get_if<Transition>(&resolved);
  if (t == nullptr || (t->work != Work::copy && t->work != Work::load)) return resolved;
  // R15: the destination is charged before anything is copied, while the source still is.
  charge(*t->destination, t->charge, 0);
  begun_.push_back({*t->destination, t->charge, 0});
  if (t->work == Work::load && *t->source != *t->destination) {  // R16
    charge(*t->source, 0, t->temporary);
    begun_.push_back({*t->source, 0, t->temporary});
  }
  if (t->staging != 0) {  // R64
    charge(Location::pinned_host(), 0, t->staging);
    begun_.push_back({Location::pinned_host(), 0, t->staging});
  }
  return resolved;
}

void State::end_charges(const Transition& t, bool keep_destination) {
  const auto take = [&](Location at, Bytes used, Bytes reserved) {
    const auto begun = std::find_if(begun_.begin(), begun_.end(), [&](const Charge& c) {
      return c.at == at && c.used == used && c.reserved == reserved;
    });
    FHERES_CHECK(begun != begun_.end());
    begun_.erase(begun);
  };
  const bool installs = t.work == Work::copy || t.work == Work::load;
  if (!installs) return;
  take(*t.destination, t.charge, 0);
  if (!keep_destination) discharge(*t.destination, t.charge, 0);
  if (t.work == Work::load && *t.source != *t.destination) {
    take(*t.source, 0, t.temporary);
    discharge(*t.source, 0, t.temporary);  // R16, on failure too
    if (keep_destination) establish(*t.source);
  }
  if (t.staging != 0) {
    take(Location::pinned_host(), 0, t.staging);
    const bool stays = t.asynchronous && keep_destination;  // until it has arrived
    if (!stays) discharge(Location::pinned_host(), 0, t.staging);
    if (keep_destination) establish(Location::pinned_host());
  }
  if (keep_destination) establish(*t.destination);
}

// R2: an account begins with the first use that succeeds.
void State::drop_empty_provisional() {
  std::erase_if(provisional_, [&](Location at) {
    const bool empty =
        std::none_of(begun_.begin(), begun_.end(), [&](const Charge& c) { return c.at == at; });
    if (empty) std::erase_if(accounts_, [&](const Account& a) { return a.at == at; });
    return empty;
  });
}

void State::commit(const Transition& t, Bytes actual_bytes) {
  if (t.work == Work::nothing) return;
  const HandleId value = value_of(t.action);
  ValueRecord& record = values_[value.serial];
  end_charges(t, true);
  if (t.work != Work::remove) {
    FHERES_CHECK(actual_bytes >= record.spec->logical_bytes && actual_bytes <= record.spec->storage_bytes);
    install(value, *t.destination, actual_bytes);
    if (t.asynchronous) {  // R21
      for (Materialization& m : record.materializations) {
        if (m.at == *t.destination) m.arrival = Arrival{*t.source, t.staging};
        if (m.at == *t.destination || m.at == *t.source) ++m.protection.pending;
      }
    }
  }
  if (std::holds_alternative<Discard>(t.action)) {
    while (!record.materializations.empty()) remove(value, record.materializations.back().at);
    record.source.reset();
    record.discarded = true;
  } else if (t.work == Work::remove || removed_elsewhere(t)) {
    remove(value, *t.source);  // R15: only after install
  }
  ++version_;
}

void State::abort(const Transition& t) {
  end_charges(t, false);
  if (!provisional_.empty()) drop_empty_provisional();
}

std::vector<Location> State::arrivals_in_the_way(const Action& action) const {
  std::vector<Location> found;
  const HandleId value = value_of(action);
  if (!is_live(value)) return found;
  const ValueRecord& record = values_[value.serial];
  if (std::none_of(record.materializations.begin(), record.materializations.end(),
                   [](const Materialization& m) { return m.arrival.has_value(); }))
    return found;
  std::optional<Location> gone;
  if (const auto* drop = std::get_if<Drop>(&action)) gone = drop->at;
  if (const auto* move = std::get_if<Move>(&action)) {
    const Materialization* source = source_of(record, move->to, move->from);
    if (source == nullptr || source->at == move->to) return found;
    gone = source->at;
  }
  if (std::holds_alternative<Ensure>(action)) return found;
  for (const Materialization& m : record.materializations)
    if (m.arrival && (!gone || m.at == *gone || m.arrival->from == *gone)) found.push_back(m.at);
  return found;
}

void State::settle(HandleId value, Location at) {
  FHERES_CHECK(!check_resident(value, at));
  auto& places = values_[value.serial].materializations;
  const auto arrived =
      std::find_if(places.begin(), places.end(), [&](const Materialization& m) { return m.at == at; });
  FHERES_CHECK(arrived->arrival.has_value());
  const Location from = arrived->arrival->from;
  if (arrived->arrival->staging != 0) discharge(Location::pinned_host(), 0, arrived->arrival->staging);
  arrived->arrival.reset();
  for (Materialization& m : places) {
    if (m.at != at && m.at != from) continue;
    FHERES_CHECK(m.protection.pending > 0);
    --m.protection.pending;
  }
  ++version_;
}

std::variant<Transition, Refusal> State::apply(const Action& action) {
  auto begun = begin(action);
  if (const auto* transition = std::get_if<Transition>(&begun)) commit(*transition, transition->bytes);
  return begun;
}

State::Undo State::mark(HandleId value) const {
  FHERES_CHECK(begun_.empty());
  return {value, record(value), accounts_, version_};
}

void State::restore(Undo undo) {
  FHERES_CHECK(begun_.empty());
  values_[undo.value.serial] = std::move(undo.record);
  accounts_ = std::move(undo.accounts);
  version_ = undo.version;
}

}  // namespace fheres::residency
