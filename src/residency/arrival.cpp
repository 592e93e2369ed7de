// Asynchronous arrivals: who waits for them, and how they end (R21 to R23).
#include <algorithm>
#include <utility>

#include <fheres/base/clock.hpp>

#include "residency/core.hpp"

namespace fheres::residency {

Arriving* Core::arriving(HandleId value, Location at) {
  const auto found = std::find_if(arrivals.begin(), arrivals.end(),
                                  [&](const Arriving& a) { return a.value == value && a.at == at; });
  return found == arrivals.end() ? nullptr : &*found;
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

void Core::end_arrivals(std::span<const ValuePlace> places) {
  for (const ValuePlace& place : places) {
    Arriving* arrived = arriving(place.value, place.at);
    if (arrived == nullptr || !complete(arrived->ready)) continue;
    tell_arrival(*arrived);
    state.settle(place.value, place.at);
    arrivals.erase(arrivals.begin() + (arrived - arrivals.data()));
  }
}

void Core::order_after_arrival(const memory::Stream& stream, HandleId value, Location at) {
  memory::Event ready;
  {
    const std::lock_guard lock(mutex);
    const Arriving* on_its_way = arriving(value, at);
    if (on_its_way == nullptr || complete(on_its_way->ready)) return;
    ready = on_its_way->ready;
  }
  driver->wait(stream, ready);
  const std::lock_guard lock(mutex);
  if (Arriving* on_its_way = arriving(value, at)) ++on_its_way->device_waits;
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
