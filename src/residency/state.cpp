// Values, accounts, reservations and protections. The transitions are in state_transitions.cpp.
#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/residency/state.hpp>

namespace fheres::residency {
namespace {

template <class Places>
auto place(Places& places, Location at) {
  return std::find_if(places.begin(), places.end(), [&](const auto& m) { return m.at == at; });
}

std::uint32_t& count(Protection& protection, State::Token token) {
  switch (token) {
    case State::Token::use:
      return protection.use;
    case State::Token::hold:
      return protection.hold;
    case State::Token::pending:
      break;
  }
  return protection.pending;
}

}  // namespace

std::optional<Bytes> Account::remaining() const {
  if (!budget) return std::nullopt;
  return *budget - used - reserved;
}

State::State(ManagerId manager, const std::map<Location, Bytes>& budgets, std::optional<int> devices,
             CopyRules copies)
    : manager_(manager), devices_(devices), copies_(std::move(copies)) {
  for (const auto& [at, budget] : budgets) {
    if (!present(at))
      throw std::invalid_argument(
          fmt::format("a budget of {} B for {}, which is not present on this machine", budget, at.name()));
    accounts_.push_back({at, budget});
  }
}

// ---- Values

std::optional<Refusal> State::check(HandleId value) const {
  using Rule = Refusal::Rule;
  if (value.manager != manager_) return Refusal{.rule = Rule::foreign_handle, .value = value};
  if (value.serial >= values_.size()) return Refusal{.rule = Rule::unknown_handle, .value = value};
  if (values_[value.serial].discarded) return Refusal{.rule = Rule::discarded_handle, .value = value};
  return std::nullopt;
}

std::optional<Refusal> State::check_resident(HandleId value, Location at) const {
  if (auto refusal = check(value)) return refusal;
  if (values_[value.serial].at(at) == nullptr)
    return Refusal{.rule = Refusal::Rule::unavailable, .value = value, .at = at};
  return std::nullopt;
}

const ValueRecord& State::record(HandleId value) const {
  FHERES_CHECK(value.manager == manager_ && value.serial < values_.size());
  return values_[value.serial];
}

HandleId State::add_value(const ValueSpec& spec, Recoverability recoverability) {
  ValueSpec frozen = spec;
  frozen.recoverability = recoverability;
  values_.push_back({.spec = std::make_shared<const ValueSpec>(std::move(frozen))});
  return handle(values_.size() - 1);
}

std::variant<HandleId, Refusal> State::adopt(const ValueSpec& spec, Location at, Bytes actual_bytes) {
  check_spec(spec);
  FHERES_CHECK(actual_bytes >= spec.logical_bytes && actual_bytes <= spec.storage_bytes);  // R7
  if (auto refusal = admit(at, spec.storage_bytes)) return *refusal;                       // R24
  const HandleId value = add_value(spec, Recoverability::must_preserve);                   // R4
  charge(at, spec.storage_bytes, 0);
  establish(at);
  install(value, at, actual_bytes);
  ++version_;
  return value;
}

std::variant<std::size_t, Refusal> State::payer_of(const ValueSpec& spec, Location at,
                                                   ReservationId from) const {
  const auto payer = std::find_if(reservations_.begin(), reservations_.end(),
                                  [&](const ReservationRecord& r) { return r.id == from; });
  if (payer == reservations_.end())
    return Refusal{.rule = Refusal::Rule::closed_reservation, .value = {}, .at = at};
  if (payer->spec.at != at)
    throw std::invalid_argument(fmt::format("'{}' at {} cannot be paid for by reservation '{}' at {}",
                                            spec.name, at.name(), payer->spec.label, payer->spec.at.name()));
  if (payer->spec.bytes < spec.storage_bytes)
    return Refusal{.rule = Refusal::Rule::budget,
                   .value = {},
                   .at = at,
                   .budget = payer->spec.bytes,
                   .requested = spec.storage_bytes};
  return static_cast<std::size_t>(payer - reservations_.begin());
}

void State::install_paid(HandleId value, Location at, Bytes actual_bytes, std::size_t payer) {
  // R38: one step, so that neither the sum nor its peak ever holds the output twice.
  const Bytes bytes = values_[value.serial].spec->storage_bytes;
  reservations_[payer].spec.bytes -= bytes;
  discharge(at, 0, bytes);
  charge(at, bytes, 0);
  install(value, at, actual_bytes);
  ++version_;
}

std::variant<HandleId, Refusal> State::adopt(const ValueSpec& spec, Location at, Bytes actual_bytes,
                                             ReservationId from) {
  check_spec(spec);
  FHERES_CHECK(actual_bytes >= spec.logical_bytes && actual_bytes <= spec.storage_bytes);  // R7
  const auto payer = payer_of(spec, at, from);
  if (const auto* refusal = std::get_if<Refusal>(&payer)) return *refusal;
  const HandleId value = add_value(spec, Recoverability::must_preserve);
  install_paid(value, at, actual_bytes, std::get<std::size_t>(payer));
  return value;
}

HandleId State::announce(const ValueSpec& spec) {
  check_spec(spec);
  const HandleId value = add_value(spec, Recoverability::must_preserve);
  values_.edit(value.serial).announced = true;
  ++version_;
  return value;
}

std::optional<Refusal> State::check_announced(HandleId value) const {
  if (auto refusal = check(value)) return refusal;
  if (values_[value.serial].announced) return std::nullopt;
  return Refusal{.rule = Refusal::Rule::not_announced, .value = value};
}

std::optional<Refusal> State::adopt(HandleId announced, Location at, Bytes actual_bytes, ReservationId from) {
  if (auto refusal = check_announced(announced)) return refusal;
  const ValueRecord& value = values_[announced.serial];
  FHERES_CHECK(actual_bytes >= value.spec->logical_bytes && actual_bytes <= value.spec->storage_bytes);  // R7
  const auto payer = payer_of(*value.spec, at, from);
  if (const auto* refusal = std::get_if<Refusal>(&payer)) return *refusal;
  values_.edit(announced.serial).announced = false;
  install_paid(announced, at, actual_bytes, std::get<std::size_t>(payer));
  return std::nullopt;
}

HandleId State::register_source(const ValueSpec& spec, Location source) {
  check_spec(spec);
  if (spec.recoverability != Recoverability::reconstructible)  // R5
    throw std::invalid_argument(
        fmt::format("'{}' has a source, so its specification must say reconstructible", spec.name));
  if (!present(source))  // R3
    throw std::invalid_argument(fmt::format("{} is not present on this machine", source.name()));
  const HandleId value = add_value(spec, Recoverability::reconstructible);
  values_.edit(value.serial).source = source;
  ++version_;
  return value;
}

void State::install(HandleId value, Location at, Bytes actual_bytes) {
  auto& places = values_.edit(value.serial).materializations;
  const auto next =
      std::find_if(places.begin(), places.end(), [&](const Materialization& m) { return m.at >= at; });
  FHERES_CHECK(next == places.end() || next->at != at);
  places.insert(next, {at, actual_bytes});
  count_replicas(value.serial);
}

void State::count_replicas(std::uint64_t serial) { note_replicas(values_[serial], serial); }

void State::note_replicas(const ValueRecord& record, std::uint64_t serial) {
  for (Residents& residents : residents_) residents.values.set(serial, false);
  bool guarded = false, arriving = false;
  for (const Materialization& m : record.materializations) {
    auto found = std::find_if(residents_.begin(), residents_.end(),
                              [&](const Residents& residents) { return residents.at == m.at; });
    if (found == residents_.end()) found = residents_.insert(found, {m.at, {}});
    found->values.set(serial, true);
    guarded = guarded || m.protection.any();
    arriving = arriving || m.arrival.has_value();
  }
  guarded_.set(serial, guarded);
  arriving_.set(serial, arriving);
}

const BitSet& State::residents(Location at) const {
  static const BitSet kNobody;
  for (const Residents& residents : residents_)
    if (residents.at == at) return residents.values;
  return kNobody;
}

void State::remove(HandleId value, Location at) {
  ValueRecord& record = values_.edit(value.serial);
  const auto gone = place(record.materializations, at);
  FHERES_CHECK(gone != record.materializations.end() && !gone->protection.any());
  record.materializations.erase(gone);
  count_replicas(value.serial);
  discharge(at, record.spec->storage_bytes, 0);
}

State State::copy_for(std::span<const HandleId> values) const {
  State copy(manager_, {}, devices_, copies_);
  copy.version_ = version_;
  std::vector<std::uint64_t> known;
  known.reserve(2 * values.size());
  for (const HandleId value : values) {
    if (value.manager != manager_ || value.serial >= values_.size()) continue;
    const ValueRecord& record = values_[value.serial];
    known.push_back(value.serial);
    // R66: whether and how one goes or comes depends on the other.
    if (record.backing) known.push_back(record.backing->serial);
    for (const HandleId dependent : record.dependents) known.push_back(dependent.serial);
  }
  for (const std::uint64_t serial : known) copy.note_replicas(values_[serial], serial);
  copy.values_ = values_.only(std::move(known));
  copy.accounts_ = accounts_;
  copy.reservations_ = reservations_;
  copy.next_reservation_ = next_reservation_;
  copy.begun_ = begun_;
  copy.provisional_ = provisional_;
  return copy;
}

// ---- Accounts

const Account* State::account(Location at) const {
  for (const Account& a : accounts_)
    if (a.at == at) return &a;
  return nullptr;
}

Account* State::find(Location at) {
  for (Account& a : accounts_)
    if (a.at == at) return &a;
  return nullptr;
}

std::optional<Refusal> State::admit(Location at, Bytes requested) const {
  if (!present(at)) return Refusal{.rule = Refusal::Rule::absent_location, .value = {}, .at = at};  // R3
  const Account* a = account(at);
  if (a == nullptr) return std::nullopt;
  if (!a->budget) {
    checked_add(checked_add(a->used, a->reserved), requested);
    return std::nullopt;
  }
  if (requested <= *a->budget - a->used - a->reserved) return std::nullopt;  // R24
  return Refusal{.rule = Refusal::Rule::budget,
                 .value = {},
                 .at = at,
                 .budget = *a->budget,
                 .used = a->used,
                 .reserved = a->reserved,
                 .requested = requested};
}

void State::charge(Location at, Bytes used, Bytes reserved) {
  Account* a = find(at);
  if (a == nullptr) {
    const auto next =
        std::find_if(accounts_.begin(), accounts_.end(), [&](const Account& other) { return other.at > at; });
    a = &*accounts_.insert(next, {at, std::nullopt});
    provisional_.push_back(at);
  }
  a->used += used;
  a->reserved += reserved;
  FHERES_CHECK(!a->budget || a->used + a->reserved <= *a->budget);
  a->peak_used = std::max(a->peak_used, a->used);
  a->peak_charged = std::max(a->peak_charged, a->used + a->reserved);
}

void State::discharge(Location at, Bytes used, Bytes reserved) {
  Account* a = find(at);
  FHERES_CHECK(a != nullptr && a->used >= used && a->reserved >= reserved);
  a->used -= used;
  a->reserved -= reserved;
}

// From now on the account stays, whatever happens to what made it (R2).
void State::establish(Location at) { std::erase(provisional_, at); }

std::vector<Account> State::recount() const {
  std::vector<Account> counted = accounts_;
  for (Account& a : counted) a.used = a.reserved = 0;
  const auto of = [&](Location at) -> Account& {
    const auto found =
        std::find_if(counted.begin(), counted.end(), [&](const Account& a) { return a.at == at; });
    FHERES_CHECK(found != counted.end());
    return *found;
  };
  for (const ValueRecord& record : values_.all())
    for (const Materialization& m : record.materializations) {
      of(m.at).used += record.spec->storage_bytes;
      if (!m.arrival) continue;
      of(m.at).reserved += m.arrival->temporary;
      if (m.arrival->staging != 0) of(Location::pinned_host()).reserved += m.arrival->staging;
    }
  for (const ReservationRecord& r : reservations_) of(r.spec.at).reserved += r.spec.bytes;
  for (const Charge& c : begun_) {
    of(c.at).used += c.used;
    of(c.at).reserved += c.reserved;
  }
  return counted;
}

// ---- Reservations

std::variant<ReservationId, Refusal> State::reserve(const ReservationSpec& spec) {
  if (spec.label.empty()) throw std::invalid_argument("a reservation needs a label, the one given is empty");
  const Bytes bytes = round_up_to_granule(spec.bytes);
  if (auto refusal = admit(spec.at, bytes)) return *refusal;
  reservations_.push_back({ReservationId{next_reservation_++}, {spec.at, bytes, spec.label}});
  charge(spec.at, 0, bytes);
  establish(spec.at);
  ++version_;
  return reservations_.back().id;
}

const ReservationRecord* State::reservation(ReservationId id) const {
  for (const ReservationRecord& r : reservations_)
    if (r.id == id) return &r;
  return nullptr;
}

void State::release(ReservationId id) {
  const auto gone = std::find_if(reservations_.begin(), reservations_.end(),
                                 [&](const ReservationRecord& r) { return r.id == id; });
  if (gone == reservations_.end()) return;
  discharge(gone->spec.at, 0, gone->spec.bytes);
  reservations_.erase(gone);
  ++version_;
}

std::optional<Refusal> State::resize(ReservationId id, Bytes bytes) {
  const auto found = std::find_if(reservations_.begin(), reservations_.end(),
                                  [&](const ReservationRecord& r) { return r.id == id; });
  if (found == reservations_.end()) return Refusal{.rule = Refusal::Rule::closed_reservation, .value = {}};
  bytes = round_up_to_granule(bytes);
  Bytes& now = found->spec.bytes;
  if (bytes == now) return std::nullopt;
  if (bytes > now) {
    if (auto refusal = admit(found->spec.at, bytes - now)) return refusal;
    charge(found->spec.at, 0, bytes - now);
  } else {
    discharge(found->spec.at, 0, now - bytes);
  }
  now = bytes;
  ++version_;
  return std::nullopt;
}

// ---- Protections (R37)

void State::protect(HandleId value, Location at, Token token) {
  FHERES_CHECK(!check_resident(value, at));
  auto& places = values_.edit(value.serial).materializations;
  ++count(place(places, at)->protection, token);
  count_replicas(value.serial);
  ++version_;
}

void State::unprotect(HandleId value, Location at, Token token) {
  FHERES_CHECK(!check_resident(value, at));
  auto& places = values_.edit(value.serial).materializations;
  std::uint32_t& tokens = count(place(places, at)->protection, token);
  FHERES_CHECK(tokens > 0);
  --tokens;
  count_replicas(value.serial);
  ++version_;
}

void State::use_to_pending(HandleId value, Location at) {
  unprotect(value, at, Token::use);
  protect(value, at, Token::pending);
  --version_;  // one change
}

}  // namespace fheres::residency
