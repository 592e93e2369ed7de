// Asynchronous arrivals: who waits for them, and how they end (R21 to R23).
#include <algorithm>
#include <utility>

#include <fheres/base/clock.hpp>

#include "residency/core.hpp"

namespace fheres::residency {

namespace {

/// The last event of each stream: when it is complete, so is all that was queued there before.
struct Last {
  memory::Stream stream;
  memory::Event ready;
  std::uint64_t sequence = 0;
  std::int64_t stall_ns = 0;  // that the host waited for it
};

using Place = std::pair<HandleId, Location>;

std::vector<Place> sorted(std::span<const ValuePlace> places) {
  std::vector<Place> list;
  list.reserve(places.size());
  for (const ValuePlace& place : places) list.emplace_back(place.value, place.at);
  std::sort(list.begin(), list.end());
  return list;
}

bool is_of(const std::vector<Place>& places, const Arriving& a) {
  return std::binary_search(places.begin(), places.end(), Place(a.value, a.at));
}

/// Of arrivals in the order in which they were queued.
std::vector<Last> last_of_each(std::span<Arriving* const> arrivals) {
  std::vector<Last> last;
  for (const Arriving* arrival : arrivals) {
    const auto known = std::find_if(last.begin(), last.end(),
                                    [&](const Last& item) { return item.stream == arrival->stream; });
    Last& item = known == last.end() ? last.emplace_back() : *known;
    item = {arrival->stream, arrival->ready, arrival->sequence, 0};
  }
  return last;
}

}  // namespace

Arriving* Core::arriving(HandleId value, Location at) {
  if (!state.arriving().has(value.serial)) return nullptr;
  // The youngest are looked for most.
  const auto found = std::find_if(arrivals.rbegin(), arrivals.rend(),
                                  [&](const Arriving& a) { return a.value == value && a.at == at; });
  return found == arrivals.rend() ? nullptr : &*found;
}

std::vector<Arriving*> Core::on_their_way(std::span<const HandleId> values, Location at) {
  BitSet wanted;
  bool any = false;
  for (const HandleId value : values) {
    if (value.manager != id || !state.arriving().has(value.serial)) continue;
    wanted.set(value.serial, any = true);
  }
  std::vector<Arriving*> found;
  if (!any) return found;
  for (Arriving& a : arrivals)
    if (a.at == at && !a.told && wanted.has(a.value.serial)) found.push_back(&a);
  return found;
}

// That it is there. It may be protected still, until it is settled.
void Core::tell_arrival(Arriving& arrived) {
  if (std::exchange(arrived.told, true)) return;
  // Reports are numbered without gaps, so the place of one in the ring follows from its number.
  if (trace.empty() || arrived.sequence < trace.front().sequence) return;
  const std::uint64_t place = arrived.sequence - trace.front().sequence;
  if (place >= trace.size()) return;
  TransitionReport& report = trace[place];
  report.arriving = false;
  report.end_ns = now_ns();
  report.stall_ns = arrived.stall_ns;
  report.device_waits = arrived.device_waits;
}

// Hundreds may be queued, and every transition asks: the first of a location that is not complete is as many as need to
// be asked.
void Core::tell_arrivals() {
  while (told_arrivals < arrivals.size() && arrivals[told_arrivals].told) ++told_arrivals;
  BitSet under_way;
  std::size_t rest = arrival_places.size();
  for (std::size_t i = told_arrivals; i < arrivals.size() && rest != 0; ++i) {
    Arriving& a = arrivals[i];
    if (a.told || under_way.has(a.at.index())) continue;
    if (complete(a.ready)) {
      tell_arrivals_from(i);
    } else {
      under_way.set(a.at.index(), true);
      --rest;
    }
  }
}

// One stream is complete in its order: a few questions find how far, where to ask for each would take a microsecond each.
void Core::tell_arrivals_from(std::size_t first) {
  std::vector<Arriving*> queued;
  for (std::size_t i = first; i < arrivals.size(); ++i)
    if (!arrivals[i].told && arrivals[i].stream == arrivals[first].stream) queued.push_back(&arrivals[i]);
  const auto rest = std::partition_point(queued.begin() + 1, queued.end(),
                                         [&](const Arriving* a) { return complete(a->ready); });
  for (auto a = queued.begin(); a != rest; ++a) tell_arrival(**a);
}

void Core::note_arrival(Arriving arrival) {
  if (std::find(arrival_places.begin(), arrival_places.end(), arrival.at) == arrival_places.end())
    arrival_places.push_back(arrival.at);
  arrivals.push_back(std::move(arrival));
}

void Core::await(HandleId value, Location at) {
  memory::Event ready;
  {
    const std::lock_guard lock(mutex);
    const Arriving* on_its_way = arriving(value, at);
    if (on_its_way == nullptr) return;
    ready = on_its_way->ready;
    if (complete(ready)) return reap();
  }
  const std::int64_t start = now_ns();
  driver->synchronize(ready);
  const std::lock_guard lock(mutex);
  if (closed) return;
  if (Arriving* arrived = arriving(value, at); arrived != nullptr && arrived->ready == ready)
    arrived->stall_ns += now_ns() - start;
  end_events({&ready, 1});
  reap();
}

void Core::settle(HandleId value, Location at) {
  await(value, at);
  const std::lock_guard lock(mutex);
  if (!closed) end_arrivals({{ValuePlace{value, at}}});
}

void Core::await(std::span<const ValuePlace> places) {
  if (places.empty()) return;
  const std::vector<Place> ends = sorted(places);
  std::vector<Last> last;
  {
    const std::lock_guard lock(mutex);
    std::vector<Arriving*> awaited;
    for (Arriving& a : arrivals)
      if (is_of(ends, a)) awaited.push_back(&a);
    last = last_of_each(awaited);
    for (Last& item : last)
      if (complete(item.ready)) item.ready = {};
  }
  for (Last& item : last) {
    if (!item.ready) continue;
    const std::int64_t start = now_ns();
    driver->synchronize(item.ready);
    item.stall_ns = now_ns() - start;
  }
  const std::lock_guard lock(mutex);
  for (Arriving& a : arrivals) {
    for (const Last& item : last) {
      if (a.stream != item.stream || a.sequence > item.sequence) continue;
      a.ready = {};
      if (a.sequence == item.sequence) a.stall_ns += item.stall_ns;
    }
  }
}

void Core::end_arrivals(std::span<const ValuePlace> places) {
  if (places.empty()) return;
  const std::vector<Place> ends = sorted(places);
  std::erase_if(arrivals, [&](Arriving& a) {
    if (!is_of(ends, a) || !complete(a.ready)) return false;
    tell_arrival(a);
    state.settle(a.value, a.at);
    return true;
  });
  told_arrivals = 0;
}

void Core::order_after_arrivals(const memory::Stream& stream, std::span<const HandleId> values, Location at) {
  std::vector<Last> last;
  {
    const std::lock_guard lock(mutex);
    last = last_of_each(on_their_way(values, at));
    std::erase_if(last, [&](const Last& item) { return complete(item.ready); });
  }
  if (last.empty()) return;
  for (const Last& item : last) driver->wait(stream, item.ready);
  const std::lock_guard lock(mutex);
  for (Arriving* awaited : on_their_way(values, at)) {
    const bool waits = std::any_of(last.begin(), last.end(), [&](const Last& item) {
      return item.stream == awaited->stream && awaited->sequence <= item.sequence;
    });
    if (waits) ++awaited->device_waits;
  }
}

void Core::settle_for(const Action& action) {
  std::vector<ValuePlace> in_the_way;
  {
    const std::lock_guard lock(mutex);
    in_the_way = state.arrivals_in_the_way(action);
  }
  for (const ValuePlace& end : in_the_way) settle(end.value, end.at);
}

}  // namespace fheres::residency
