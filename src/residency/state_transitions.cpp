// begin, commit, abort: the only place where placement changes.
#include <algorithm>

#include <fheres/base/check.hpp>
#include <fheres/memory/bandwidth.hpp>
#include <fheres/residency/state.hpp>

namespace fheres::residency {
namespace {

using Rule = Refusal::Rule;
using Work = Transition::Work;

Materialization* place(ValueRecord& record, Location at) {
  for (Materialization& m : record.materializations)
    if (m.at == at) return &m;
  return nullptr;
}

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

  const Materialization* backing = backing_for(record, to);
  const bool expand = expands(t, from, source, backing);
  const auto* ensure = std::get_if<Ensure>(&t.action);
  t.asynchronous = ensure != nullptr && ensure->asynchronous;
  if (t.asynchronous)
    if (auto refusal = expand ? expansion_refusal(value, *backing, to) : arrival_refusal(value, source, to))
      return *refusal;

  t.charge = record.spec->storage_bytes;
  Bytes sent = t.charge;
  if (expand) {  // R66
    t.work = Work::expand;
    t.source = backing->at;
    t.backing = record.backing;
    t.bytes = backing->at == to ? 0 : backing->actual_bytes;
    t.block_bytes = record.spec->logical_bytes;
    sent = values_[record.backing->serial].spec->storage_bytes;
    t.temporary = backing->at == to ? 0 : sent;
  } else if (source != nullptr) {
    t.work = Work::copy;
    t.source = source->at;
    t.bytes = t.block_bytes = source->actual_bytes;
    t.removes_source = moves;
    if (moves)
      if (auto refusal = protected_at(value, *source)) return *refusal;  // R35
  } else if (!record.source) {                                           // announced, and not adopted yet
    return Refusal{.rule = Rule::unavailable, .value = value, .at = to};
  } else {
    t.work = Work::load;
    t.source = record.source;
    t.bytes = t.block_bytes = record.spec->logical_bytes;
    t.temporary = *record.source == to ? 0 : sent;  // R16
  }
  if (t.source->is_cuda() && to.is_cuda() && *t.source != to && !copies_.are_peers(*t.source, to))
    t.staging = sent;  // R64
  if (auto refusal = admit(t)) {
    refusal->value = value;
    return *refusal;
  }
  return t;
}

// R21: a pageable end would block the host.
std::optional<Refusal> State::arrival_refusal(HandleId value, const Materialization* source,
                                              Location to) const {
  const std::optional<Location> read = source != nullptr ? source->at : values_[value.serial].source;
  if (!read)
    return Refusal{.rule = Rule::unavailable, .value = value, .at = to};  // announced, and not adopted yet
  for (const Location end : {*read, to})
    if (end == Location::pageable_host())
      return Refusal{.rule = Rule::pageable_end, .value = value, .at = end};
  if (source == nullptr) return Refusal{.rule = Rule::pageable_end, .value = value, .at = *read};
  return std::nullopt;
}

// Of all that the transition charges at once (R15, R16, R64, R66).
std::optional<Refusal> State::admit(const Transition& t) const {
  const bool together = t.has_temporary() && t.temporary_at() == *t.destination;
  if (auto refusal = admit(*t.destination, together ? checked_add(t.charge, t.temporary) : t.charge))
    return refusal;
  if (t.temporary != 0 && !together)
    if (auto refusal = admit(t.temporary_at(), t.temporary)) return refusal;
  if (t.staging != 0) return admit(Location::pinned_host(), t.staging);
  return std::nullopt;
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
  if (record.materializations.size() == 1)
    if (auto refusal = last_copy_refusal(action.value, action.at)) return *refusal;  // R11, R66
  if (auto refusal = protected_at(action.value, *there)) return *refusal;            // R35
  t.work = Work::remove;
  t.source = action.at;
  t.removes_source = true;
  return t;
}

std::variant<Transition, Refusal> State::resolve_discard(const Discard& action) const {
  if (auto refusal = needed_backing(action.value)) return *refusal;               // R66
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
  if (t == nullptr || !t->installs()) return resolved;
  // R15: the destination is charged before anything is copied, while the source still is.
  charge(*t->destination, t->charge, 0);
  begun_.push_back({*t->destination, t->charge, 0});
  if (t->has_temporary()) {  // R16, R66
    charge(t->temporary_at(), 0, t->temporary);
    begun_.push_back({t->temporary_at(), 0, t->temporary});
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
  if (!t.installs()) return;
  const bool stays = t.asynchronous && keep_destination;  // until it has arrived
  take(*t.destination, t.charge, 0);
  if (!keep_destination) discharge(*t.destination, t.charge, 0);
  if (t.has_temporary()) {
    take(t.temporary_at(), 0, t.temporary);
    if (!stays) discharge(t.temporary_at(), 0, t.temporary);  // R16, on failure too
    if (keep_destination) establish(t.temporary_at());
  }
  if (t.staging != 0) {
    take(Location::pinned_host(), 0, t.staging);
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
  ValueRecord& record = values_.edit(value.serial);
  end_charges(t, true);
  if (t.work != Work::remove) {
    FHERES_CHECK(actual_bytes >= record.spec->logical_bytes && actual_bytes <= record.spec->storage_bytes);
    install(value, *t.destination, actual_bytes);
    if (t.asynchronous) {  // R21
      Materialization& there = *place(record, *t.destination);
      there.arrival = Arrival{*t.source, t.staging, t.temporary, t.backing};
      ++there.protection.pending;
      const std::uint64_t read = t.backing.value_or(value).serial;
      ++place(values_.edit(read), *t.source)->protection.pending;
      count_replicas(read);
      count_replicas(value.serial);
    }
  }
  if (std::holds_alternative<Discard>(t.action)) {
    while (!record.materializations.empty()) remove(value, record.materializations.back().at);
    record.source.reset();
    record.discarded = true;
    record.dependents.clear();
    if (record.backing) std::erase(values_.edit(record.backing->serial).dependents, value);
  } else if (t.work == Work::remove || removed_elsewhere(t)) {
    remove(value, *t.source);  // R15: only after install
  }
  ++version_;
}

void State::abort(const Transition& t) {
  end_charges(t, false);
  if (!provisional_.empty()) drop_empty_provisional();
}

std::vector<ValuePlace> State::arrivals_in_the_way(const Action& action) const {
  std::vector<ValuePlace> found;
  const HandleId value = value_of(action);
  if (!is_live(value)) return found;
  const ValueRecord& record = values_[value.serial];
  if (record.dependents.empty() &&
      std::none_of(record.materializations.begin(), record.materializations.end(),
                   [](const Materialization& m) { return m.arrival.has_value(); }))
    return found;
  if (const auto* ensure = std::get_if<Ensure>(&action)) {
    const Materialization* there = record.at(ensure->at);
    if (!ensure->asynchronous && there != nullptr && there->arrival) found.push_back({value, ensure->at});
    return found;
  }
  std::optional<Location> gone;
  if (const auto* drop = std::get_if<Drop>(&action)) gone = drop->at;
  if (const auto* move = std::get_if<Move>(&action)) {
    const Materialization* source = source_of(record, move->to, move->from);
    if (source == nullptr || source->at == move->to) return found;
    gone = source->at;
  }
  for (const Materialization& m : record.materializations) {
    const auto reads_it = [&] { return !m.arrival->backing && m.arrival->from == *gone; };
    if (m.arrival && (!gone || m.at == *gone || reads_it())) found.push_back({value, m.at});
  }
  for (const HandleId dependent : record.dependents)  // R66
    for (const Materialization& m : values_[dependent.serial].materializations)
      if (m.arrival && m.arrival->backing && (!gone || m.arrival->from == *gone))
        found.push_back({dependent, m.at});
  return found;
}

void State::settle(HandleId value, Location at) {
  FHERES_CHECK(!check_resident(value, at));
  Materialization& there = *place(values_.edit(value.serial), at);
  FHERES_CHECK(there.arrival.has_value());
  const Arrival arrival = *there.arrival;
  there.arrival.reset();
  discharge(at, 0, arrival.temporary);
  if (arrival.staging != 0) discharge(Location::pinned_host(), 0, arrival.staging);
  for (Materialization* end :
       {&there, place(values_.edit(arrival.backing.value_or(value).serial), arrival.from)}) {
    FHERES_CHECK(end != nullptr && end->protection.pending > 0);
    --end->protection.pending;
  }
  count_replicas(value.serial);
  count_replicas(arrival.backing.value_or(value).serial);
  ++version_;
}

std::variant<Transition, Refusal> State::apply(const Action& action) {
  auto begun = begin(action);
  if (const auto* transition = std::get_if<Transition>(&begun)) commit(*transition, transition->block_bytes);
  return begun;
}

State::Undo State::mark(HandleId value) const {
  FHERES_CHECK(begun_.empty());
  return {value, record(value), accounts_, version_};
}

void State::restore(Undo undo) {
  FHERES_CHECK(begun_.empty());
  values_.edit(undo.value.serial) = std::move(undo.record);
  count_replicas(undo.value.serial);
  accounts_ = std::move(undo.accounts);
  version_ = undo.version;
}

}  // namespace fheres::residency
