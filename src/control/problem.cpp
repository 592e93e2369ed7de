#include "problem.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

namespace fheres::control {

using residency::Materialization;
using residency::State;
using residency::ValueRecord;

Problem::Problem(const State& state_, const Request& request_, const Policy& policy_,
                 const ValueMetadata& metadata_)
    : state(state_),
      request(request_),
      policy(policy_),
      metadata(metadata_),
      sorted_(request_.require),
      requested_(state_.records().size(), 0),
      backs_requested_(state_.records().size(), 0) {
  std::sort(sorted_.begin(), sorted_.end());
  for (const Requirement& wanted : sorted_) {
    requested_[wanted.value.serial] = 1;
    const std::optional<HandleId> backing = live_backing(state, wanted.value);
    if (!backing) continue;
    backs_requested_[backing->serial] = 1;
    may_expand_ = true;
  }
}

bool Problem::expansion_depends_on(HandleId value) const {
  return backs_requested(value) || (requested(value) && live_backing(state, value).has_value());
}

bool Problem::required(HandleId value, Location at) const {
  return requested(value) && std::binary_search(sorted_.begin(), sorted_.end(), Requirement{value, at});
}

std::size_t Problem::times_required(HandleId value) const {
  const auto first =
      std::lower_bound(sorted_.begin(), sorted_.end(), Requirement{value, Location::pageable_host()});
  auto last = first;
  while (last != sorted_.end() && last->value == value) ++last;
  return static_cast<std::size_t>(last - first);
}

std::span<const Location> Problem::tiers(Location from) const {
  auto& known = tiers_[from.index()];
  if (known) return *known;
  const std::span<const Location> named = policy.fallback_tiers(from);
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (named[i] == from || std::count(named.begin(), named.end(), named[i]) != 1) {
      throw std::logic_error(fmt::format("policy {} names {} among the fallback tiers of {}{}",
                                         policy.identity(), named[i].name(), from.name(),
                                         named[i] == from ? "" : " twice"));
    }
  }
  known = named;
  return named;
}

bool Problem::copies_are_staged() const {
  if (staged_) return *staged_;
  std::set<Location> named;
  for (const residency::Account& account : state.accounts()) named.insert(account.at);
  for (const Requirement& wanted : request.require) named.insert(wanted.at);
  for (const ValueRecord& record : state.records())
    if (record.source) named.insert(*record.source);
  std::set<Location> devices;
  for (const Location at : named) {
    devices.insert(at);
    for (const Location tier : tiers(at))
      if (state.present(tier)) devices.insert(tier);
  }
  staged_ = std::any_of(devices.begin(), devices.end(), [&](Location a) {
    return a.is_cuda() && std::any_of(devices.begin(), devices.end(), [&](Location b) {
             return b.is_cuda() && a != b && !state.copies().are_peers(a, b);
           });
  });
  return *staged_;
}

std::vector<HandleId> Problem::victims(const State& now, Location at, bool displace) const {
  std::vector<Candidate> candidates;
  now.residents(at).for_each([&](std::size_t serial) {
    const ValueRecord& record = now.records()[serial];
    const HandleId value = now.handle(serial);
    if (record.at(at)->protection.any() || (!displace && required(value, at))) return;
    const Metadata& known = metadata.of(value);
    candidates.push_back({.value = value,
                          .at = at,
                          .bytes = record.spec->storage_bytes,
                          .priority = known.priority,
                          .access_epoch = known.access_epoch,
                          .stable_key = known.stable_key ? &*known.stable_key : nullptr,
                          .replicas = record.materializations.size(),
                          .reconstructible = !now.preserved(value)});
  });
  const std::vector<std::size_t> order = policy.order(candidates);
  std::vector<char> seen(candidates.size(), 0);
  std::vector<HandleId> free, elsewhere, here;
  free.reserve(candidates.size());
  for (const std::size_t index : order) {
    if (index >= candidates.size() || seen[index] != 0 || order.size() != candidates.size()) {  // R53
      throw std::logic_error(fmt::format("policy {} ordered {} candidates as {} and not each exactly once",
                                         policy.identity(), candidates.size(), order.size()));
    }
    seen[index] = 1;
    const HandleId value = candidates[index].value;
    (!involved(value) ? free : required(value, at) ? here : elsewhere).push_back(value);
  }
  if (order.size() != candidates.size()) {
    throw std::logic_error(fmt::format("policy {} ordered {} of {} candidates", policy.identity(),
                                       order.size(), candidates.size()));
  }
  free.insert(free.end(), elsewhere.begin(), elsewhere.end());
  free.insert(free.end(), here.begin(), here.end());
  return free;
}

std::optional<Bytes> budget_of(const State& state, Location at) {
  const residency::Account* account = state.account(at);
  return account == nullptr ? std::nullopt : account->budget;
}

std::optional<HandleId> live_backing(const State& state, HandleId value) {
  const std::optional<HandleId> backing = state.record(value).backing;
  return backing && !state.record(*backing).discarded ? backing : std::nullopt;
}

residency::Action placement(const State& now, HandleId value, Location at) {
  const ValueRecord& record = now.record(value);
  const bool elsewhere = !record.materializations.empty() && record.at(at) == nullptr;
  if (elsewhere && record.spec->replica_mode == residency::ReplicaMode::exclusive) {
    return residency::Move{value, at, std::nullopt};
  }
  return residency::Ensure{value, at, std::nullopt};
}

}  // namespace fheres::control
