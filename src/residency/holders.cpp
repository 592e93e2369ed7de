#include "residency/holders.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace fheres::residency {
namespace {

/// The largest, at most so many; equal ones in the order that they come in.
std::vector<Holder> largest(std::vector<Candidate> found, std::size_t most) {
  const auto before = [](const Candidate& a, const Candidate& b) { return a.charged > b.charged; };
  if (found.size() > most) {
    // Of those that are as large as the last one that is told, the first ones stay.
    std::vector<Bytes> sizes;
    for (const Candidate& c : found) sizes.push_back(c.charged);
    std::nth_element(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(most) - 1, sizes.end(),
                     std::greater<>());
    const Bytes last = sizes[most - 1];
    const auto larger =
        std::count_if(found.begin(), found.end(), [&](const Candidate& c) { return c.charged > last; });
    std::size_t equal = most - static_cast<std::size_t>(larger);
    std::erase_if(found, [&](const Candidate& c) {
      if (c.charged != last) return c.charged < last;
      if (equal == 0) return true;
      --equal;
      return false;
    });
  }
  std::stable_sort(found.begin(), found.end(), before);
  std::vector<Holder> holders;
  holders.reserve(found.size());
  for (const Candidate& c : found) holders.push_back({c.value, *c.name, c.charged, c.protection});
  return holders;
}

// With reservations, arrivals or protections there is more to tell than who is there.
bool only_residents(const State& state, Location at) {
  return state.arriving().empty() &&
         std::none_of(state.reservations().begin(), state.reservations().end(),
                      [&](const ReservationRecord& r) { return r.spec.at == at && r.spec.bytes != 0; });
}

}  // namespace

std::vector<Candidate> candidates(const State& state, Location at) {
  std::vector<Candidate> found;
  state.residents(at).for_each([&](std::size_t serial) {
    const ValueRecord& record = state.records()[serial];
    found.push_back(
        {state.handle(serial), &record.spec->name, record.spec->storage_bytes, record.at(at)->protection});
  });
  state.arriving().for_each([&](std::size_t serial) {
    for (const Materialization& m : state.records()[serial].materializations) {
      if (!m.arrival) continue;
      const HandleId sent = m.arrival->backing.value_or(state.handle(serial));
      const auto add = [&](Bytes charged) {
        if (charged != 0) found.push_back({sent, &state.record(sent).spec->name, charged, {}});
      };
      if (at == Location::pinned_host()) add(m.arrival->staging);
      if (at == m.at) add(m.arrival->temporary);
    }
  });
  for (const ReservationRecord& r : state.reservations())
    if (r.spec.at == at && r.spec.bytes != 0)
      found.push_back({std::nullopt, &r.spec.label, r.spec.bytes, {}});
  return found;
}

void tell(std::vector<Candidate> found, std::size_t most, LocationExplanation& told) {
  told.more_holders = 0;
  told.more_bytes = 0;
  if (found.size() > most) {
    told.more_holders = found.size() - most;
    for (const Candidate& candidate : found) told.more_bytes += candidate.charged;
  }
  told.holders = largest(std::move(found), most);
  if (told.more_holders != 0)
    for (const Holder& holder : told.holders) told.more_bytes -= holder.charged;
}

bool recall(const HolderMemo& memo, const State& state, LocationExplanation& told) {
  const auto known = memo.find(told.at);
  if (known == memo.end() || !only_residents(state, told.at)) return false;
  if (!(known->second.residents == state.residents(told.at))) return false;
  told.holders = known->second.told.holders;
  told.more_holders = known->second.told.more_holders;
  told.more_bytes = known->second.told.more_bytes;
  return true;
}

void remember(HolderMemo& memo, const State& state, const LocationExplanation& told) {
  if (!only_residents(state, told.at)) return;
  const bool protects = std::any_of(told.holders.begin(), told.holders.end(),
                                    [](const Holder& holder) { return holder.protection.any(); });
  if (protects) return;
  memo.insert_or_assign(told.at, ToldHolders{state.residents(told.at), told});
}

std::vector<Holder> holders(const State& state, Location at) {
  return largest(candidates(state, at), std::numeric_limits<std::size_t>::max());
}

}  // namespace fheres::residency
