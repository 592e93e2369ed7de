// What the manager costs beside the work of a device: on the emulated driver, with blocks of one granule, the least that
// a value can be.
#include <cstring>
#include <memory>
#include <string>

#include <fheres/memory/emulated.hpp>
#include <fheres/residency/manager.hpp>

#include "control_plane.hpp"

namespace fheres::bench {
namespace {

using residency::HandleId;
using residency::Location;

const Location device = Location::cuda(0);
const Location pinned = Location::pinned_host();
const Location pageable = Location::pageable_host();

struct House {
  explicit House(int values) : driver(memory::make_emulated_driver()) {
    residency::ManagerOptions options;
    options.budgets = {{pageable, 16 * kMiB}, {pinned, 16 * kMiB}, {device, 16 * kMiB}};
    manager = std::make_unique<residency::Manager>(driver, options);
    for (int i = 0; i < values; ++i) {
      residency::Allocation block = manager->allocate(pageable, kGranule);
      std::memset(block.data(), 0, block.bytes());
      residency::ValueSpec spec;
      spec.name = "v" + std::to_string(i);
      spec.type = "bytes";
      spec.logical_bytes = spec.storage_bytes = kGranule;
      handles.push_back(manager->adopt(std::move(block), pageable, spec));
    }
  }
  std::shared_ptr<memory::Driver> driver;
  std::unique_ptr<residency::Manager> manager;
  std::vector<HandleId> handles;
};

Row row(const std::string& what, int size, const HostTimes& times, double goal, std::string remark) {
  return {what + ", " + std::to_string(size) + " values",
          what,
          static_cast<std::size_t>(size),
          times,
          goal,
          std::move(remark)};
}

Row ensure_and_drop(int values) {
  House house(values);
  const HandleId value = house.handles.front();
  const HostTimes times = time_calls(301, 100, [&] {
    house.manager->ensure(value, pinned);
    house.manager->drop(value, pinned);
  });
  return row("ensure + drop", values, times, 1, "pageable to pinned, 256 B copied");
}

Row ensure_nothing(int values) {
  House house(values);
  const HostTimes times =
      time_calls(301, 100, [&] { house.manager->ensure(house.handles.front(), pageable); });
  return row("ensure, already there", values, times, 1, "");
}

Row acquire_and_release(int values, Location at) {
  House house(values);
  for (const HandleId value : house.handles) house.manager->ensure(value, at);
  const std::vector<HandleId> one{house.handles.front()};
  const bool on_device = at == device;
  const memory::Stream consumer =
      on_device ? house.driver->make_stream(device, "consumer") : memory::Stream{};
  const HostTimes times = time_calls(301, 100, [&] { house.manager->acquire(one, at, consumer).release(); });
  return row(on_device ? "acquire + release at cuda:0" : "acquire + release at pageable-host", values, times,
             on_device ? 0 : 1, on_device ? "an event is recorded, and reaped later" : "");
}

Row snapshot(int values) {
  House house(values);
  std::size_t seen = 0;
  const HostTimes times = time_calls(301, 1, [&] { seen += house.manager->snapshot().values.size(); });
  return row("snapshot", values, times, 0, "");
}

Row explain(int values) {
  House house(values);
  residency::Plan plan{"explained", {}, {}, {}, {}};
  for (const HandleId value : house.handles) plan.enter.push_back(residency::Ensure{value, device, {}});
  for (const HandleId value : house.handles) plan.exit.push_back(residency::Drop{value, device});
  std::size_t told = 0;
  const HostTimes times = time_calls(101, 1, [&] { told = house.manager->explain(plan).actions.size(); });
  Row made = row("explain, 2 actions a value", values, times, 0, std::to_string(told) + " actions");
  return made;
}

Row scope(int values) {
  House house(values);
  const residency::Plan plan{"brief",
                             {},
                             {{device, kGranule, "workspace"}},
                             {residency::Ensure{house.handles.front(), pageable, {}}},
                             {}};
  const HostTimes times = time_calls(301, 20, [&] {
    residency::Scope entered = house.manager->scope(plan);
    entered.enter();
    entered.close();
  });
  return row("scope, enter + close", values, times, 20, "one reservation, one endpoint that is there");
}

// A stage of a plan, as `run --plan` goes through it: two values go, two come for the next stage, four are leased, an
// output is adopted. On the stepped driver, which has no threads: what the host does, and the copies of 256 B.
Row stage(int values) {
  const auto driver = memory::make_stepped_driver();
  residency::ManagerOptions options;
  options.budgets = {{pinned, 16 * kMiB}, {device, 16 * kMiB}};
  options.trace_capacity = 64;
  residency::Manager manager(driver, options);
  residency::ValueSpec spec;
  spec.name = "v";
  spec.type = "bytes";
  spec.logical_bytes = spec.storage_bytes = kGranule;
  std::vector<HandleId> handles;
  for (int i = 0; i < values; ++i)
    handles.push_back(manager.adopt(manager.allocate(pinned, kGranule), pinned, spec));
  for (int i = 0; i < 4; ++i) manager.ensure(handles[static_cast<std::size_t>(i)], device);
  const memory::Stream consumer = driver->make_stream(device, "operations");
  const residency::TransferStreams streams{{device, driver->make_stream(device, "arrivals")}};
  const auto at = [&](int i) { return handles[static_cast<std::size_t>(i % values)]; };
  int next = 0;
  const HostTimes times = time_calls(301, 20, [&] {
    residency::Plan plan;
    plan.name = "stage";
    plan.reservations = {{device, kGranule, "outputs"}, {device, 4 * kGranule, "workspace"}};
    for (int i = 4; i < 6; ++i) plan.prefetch.push_back(residency::Ensure{at(next + i), device, {}, true});
    const HandleId output = manager.announce(spec);
    plan.produce = {{output, device, 0}};
    for (int i = 0; i < 2; ++i) plan.exit.push_back(residency::Drop{at(next + i), device});
    residency::Scope scope = manager.scope(std::move(plan), streams);
    scope.enter();
    const residency::Allocation workspace = scope.reservation("workspace").allocate(4 * kGranule);
    residency::Allocation made = scope.reservation("outputs").allocate(kGranule);
    const HandleId inputs[] = {at(next), at(next + 1), at(next + 2), at(next + 3)};
    residency::Lease lease = manager.acquire(inputs, device, consumer);
    lease.release();
    driver->synchronize(consumer);
    manager.adopt(std::move(made), device, output);
    scope.close();
    manager.discard(output);
    next += 2;
  });
  manager.close();
  return row("a planned stage", values, times, 20, "2 dropped, 2 prefetched, 4 leased, 1 output");
}

// A stage as those of a compiled plan that brings what it can ahead: as many values come for the next stage as are leased
// and dropped in this one. Among 500 values, on the stepped driver: what the host does, and the copies of 256 B.
Row transfers(int each) {
  const auto driver = memory::make_stepped_driver();
  residency::ManagerOptions options;
  options.budgets = {{pinned, 16 * kMiB}, {device, 16 * kMiB}};
  options.arrivals_end_when_settled = true;
  residency::Manager manager(driver, options);
  residency::ValueSpec spec;
  spec.name = "v";
  spec.type = "bytes";
  spec.logical_bytes = spec.storage_bytes = kGranule;
  constexpr int kValues = 500;
  std::vector<HandleId> handles;
  for (int i = 0; i < kValues; ++i)
    handles.push_back(manager.adopt(manager.allocate(pinned, kGranule), pinned, spec));
  const memory::Stream consumer = driver->make_stream(device, "operations");
  const residency::TransferStreams streams{{device, driver->make_stream(device, "arrivals")}};
  const auto at = [&](int i) { return handles[static_cast<std::size_t>(i % kValues)]; };
  int next = 0;
  for (int i = 0; i < each; ++i) manager.prefetch(at(i), device, {}, streams.at(device));
  const HostTimes times = time_calls(301, 5, [&] {
    residency::Plan plan;
    plan.name = "stage";
    std::vector<HandleId> inputs;
    for (int i = next; i < next + each; ++i) {
      plan.prefetch.push_back(residency::Ensure{at(i + each), device, {}, true});
      plan.reads.push_back({at(i), device});
      plan.exit.push_back(residency::Drop{at(i), device});
      inputs.push_back(at(i));
    }
    residency::Scope scope = manager.scope(std::move(plan), streams);
    scope.enter();
    residency::Lease lease = manager.acquire(inputs, device, consumer);
    lease.release();
    driver->synchronize(consumer);
    scope.close();
    next += each;
  });
  manager.close();
  return {"a stage that prefetches, leases and drops " + std::to_string(each) + " of 500 values",
          "a stage that prefetches",
          static_cast<std::size_t>(each),
          times,
          0,
          "the work of a stage with so many transfers"};
}

}  // namespace

std::vector<Row> manager_rows() {
  std::vector<Row> rows;
  for (const int values : {1, 200, 5000}) rows.push_back(ensure_and_drop(values));
  for (const int values : {1, 200, 5000}) rows.push_back(ensure_nothing(values));
  for (const int values : {1, 200, 5000}) rows.push_back(acquire_and_release(values, pageable));
  for (const int values : {1, 200, 5000}) rows.push_back(acquire_and_release(values, device));
  for (const int values : {50, 200, 800, 5000}) rows.push_back(snapshot(values));
  for (const int values : {50, 500, 5000}) rows.push_back(explain(values));
  for (const int values : {1, 200, 5000}) rows.push_back(scope(values));
  for (const int values : {50, 500, 5000}) rows.push_back(stage(values));
  for (const int each : {4, 16, 64, 200}) rows.push_back(transfers(each));
  return rows;
}

}  // namespace fheres::bench
