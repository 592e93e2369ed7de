// Which source a copy reads, which way it goes, and what is on its way.
#include "lockstep/rules.hpp"

namespace fheres::lockstep {

// R13, R14: pinned beats a device, and a device beats pageable memory, as seen from another device; seen from the host
// only the ways to devices were measured.
std::optional<Location> Rules::source_of(const RuleValue& value, Location to) const {
  const auto rank = [&](Location from) {
    if (copies_.source_order == residency::SourceOrder::location_order) return 0;
    if (to.is_host()) return from.is_cuda() ? 1 : 0;
    return from == Location::pinned_host() ? 3 : from.is_cuda() ? 2 : 1;
  };
  std::optional<Location> best;
  for (const auto& [at, copy] : value.copies) {
    if (at != to && (!best || rank(at) > rank(*best))) best = at;
  }
  return best;
}

bool Rules::is_staged(std::optional<Location> from, Location to) const {  // R64
  if (!from || !from->is_cuda() || !to.is_cuda() || *from == to) return false;
  return !copies_.are_peers(*from, to);
}

std::vector<std::uint64_t> Rules::arrivals_in_the_way(const Action& action) const {
  std::vector<std::uint64_t> found;
  const residency::HandleId handle = residency::value_of(action);
  if (handle.manager != manager_ || !handle_is_good(handle.serial)) return found;
  if (const auto* ensure = std::get_if<residency::Ensure>(&action)) {
    const auto there = ensure->asynchronous ? std::nullopt : arrival_at({handle, ensure->at});
    if (there) found.push_back(*there);
    return found;
  }
  const RuleValue& value = values_[handle.serial];
  std::optional<Location> gone;
  if (const auto* drop = std::get_if<residency::Drop>(&action)) gone = drop->at;
  if (const auto* move = std::get_if<residency::Move>(&action)) {
    gone = move->from ? move->from : source_of(value, move->to);
    if (!gone || *gone == move->to) return found;
  }
  for (const auto& [key, arrival] : arrivals_) {
    const bool ends_there = arrival.serial == handle.serial && (!gone || arrival.at == *gone);
    const bool is_read = arrival.reads == handle.serial && (!gone || arrival.from == *gone);
    if (ends_there || is_read) found.push_back(key);
  }
  return found;
}

std::optional<std::uint64_t> Rules::arrival_at(const residency::ValuePlace& place) const {
  if (place.value.manager != manager_) return std::nullopt;
  for (const auto& [key, arrival] : arrivals_)
    if (arrival.serial == place.value.serial && arrival.at == place.at) return key;
  return std::nullopt;
}

void Rules::settle(std::uint64_t key) {  // R23
  const RuleArrival arrival = arrivals_.at(key);
  arrivals_.erase(key);
  values_[arrival.reads].copies.at(arrival.from).pending.erase(key);
  std::map<Location, RuleCopy>& copies = values_[arrival.serial].copies;
  copies.at(arrival.at).pending.erase(key);
  copies.at(arrival.at).arriving = false;
  if (arrival.staging != 0) give_back(Location::pinned_host(), arrival.offset, arrival.staged);
  give_back(arrival.at, arrival.kept_offset, arrival.kept);
}

}  // namespace fheres::lockstep
