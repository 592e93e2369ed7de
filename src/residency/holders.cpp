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

Candidate resident(const State& state, std::size_t serial, Location at) {
  const ValueRecord& record = state.records()[serial];
  return {state.handle(serial), &record.spec->name, record.spec->storage_bytes, record.at(at)->protection};
}

/// What is charged there for arrivals that are on their way, and reservations.
void add_others(const State& state, Location at, std::vector<Candidate>& found) {
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
}

}  // namespace

Candidates candidates(const State& state, Location at) {
  Candidates found;
  state.residents(at).for_each(
      [&](std::size_t serial) { found.list.push_back(resident(state, serial, at)); });
  add_others(state, at, found.list);
  return found;
}

Candidates candidates(const State& state, Location at, std::size_t most, HolderMemo& memo) {
  OrderedResidents& known = memo[at];
  const BitSet& now = state.residents(at);
  known.serials.for_each_difference(now, [&](std::size_t serial) {
    const Bytes bytes = state.records()[serial].spec->storage_bytes;
    if (now.has(serial)) {
      known.by_size.emplace(bytes, serial);
      known.charged += bytes;
    } else {
      known.by_size.erase({bytes, serial});
      known.charged -= bytes;
    }
  });
  known.serials = now;
  Candidates found;
  found.left_out = known.by_size.size();
  found.left_out_bytes = known.charged;
  for (auto it = known.by_size.begin(); it != known.by_size.end() && found.list.size() < most; ++it) {
    found.list.push_back(resident(state, it->second, at));
    --found.left_out;
    found.left_out_bytes -= it->first;
  }
  add_others(state, at, found.list);
  return found;
}

void tell(Candidates found, std::size_t most, LocationExplanation& told) {
  told.more_holders = found.left_out;
  told.more_bytes = found.left_out_bytes;
  if (found.list.size() > most) {
    told.more_holders += found.list.size() - most;
    for (const Candidate& candidate : found.list) told.more_bytes += candidate.charged;
    told.holders = largest(std::move(found.list), most);
    for (const Holder& holder : told.holders) told.more_bytes -= holder.charged;
  } else {
    told.holders = largest(std::move(found.list), most);
  }
}

void tell_holders(const State& state, Explanation& told) {
  for (LocationExplanation& location : told.locations)
    if (location.budget && location.holders.empty())
      tell(candidates(state, location.at), kMostHolders, location);
}

std::vector<Holder> holders(const State& state, Location at) {
  return largest(candidates(state, at).list, std::numeric_limits<std::size_t>::max());
}

}  // namespace fheres::residency
