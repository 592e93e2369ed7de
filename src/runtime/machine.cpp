#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <fheres/memory/cuda.hpp>
#include <fheres/memory/emulated.hpp>
#include <fheres/ring/cuda.hpp>
#include <fheres/runtime/machine.hpp>

namespace fheres::runtime {
namespace {

std::shared_ptr<memory::Driver> make_emulated(int devices) {
  memory::EmulatedOptions options;
  options.devices = std::max(devices, 1);
  return memory::make_emulated_driver(options);
}

std::shared_ptr<memory::Driver> make_cuda(std::vector<int> devices, int needed) {
  if (static_cast<int>(devices.size()) < needed) {
    throw memory::DeviceError(
        "choosing devices",
        fmt::format("the document uses {} cuda device{}, and {} {} given", needed, needed == 1 ? "" : "s",
                    devices.size(), devices.size() == 1 ? "is" : "are"));
  }
  memory::CudaOptions options;
  options.devices = std::move(devices);
  return memory::make_cuda_driver(options);
}

}  // namespace

Machine select_machine(const DeviceChoice& choice, int devices_needed) {
  switch (choice.kind) {
    case DeviceChoice::Kind::emulated:
      return {make_emulated(devices_needed), ""};
    case DeviceChoice::Kind::cuda:
      return {make_cuda(choice.devices, devices_needed), ""};
    case DeviceChoice::Kind::automatic:
      break;
  }
  if (devices_needed > 0 && memory::cuda_device_count() >= devices_needed) {
    std::vector<int> devices(static_cast<std::size_t>(devices_needed));
    std::iota(devices.begin(), devices.end(), 0);
    return {make_cuda(devices, devices_needed), ""};
  }
  return {make_emulated(devices_needed),
          fmt::format("running on the emulated device ({})", memory::cuda_status())};
}

ckks::Context Machine::context(const scheme::Parameters& parameters, memory::Location at) const {
  if (at.is_cuda() && driver->name() == "cuda") {
    return {parameters, ring::make_cuda_backend(parameters, driver, at)};
  }
  return {parameters, ring::make_cpu_backend(parameters, driver)};
}

int devices_needed(const workload::Workload& workload) {
  int needed = 0;
  const auto count = [&needed](memory::Location at) {
    if (at.is_cuda()) needed = std::max(needed, at.device() + 1);
  };
  for (const workload::LocationEntry& entry : workload.world.locations) count(entry.at);
  for (const auto& [a, b] : workload.world.peers) {
    count(a);
    count(b);
  }
  for (const workload::Value& value : workload.world.values) {
    for (const memory::Location at : value.at) count(at);
    if (value.source) count(*value.source);
  }
  for (const auto& [from, tiers] : workload.world.policy.fallback) {
    for (const memory::Location at : tiers) count(at);
  }
  for (const workload::Stage& stage : workload.stages) {
    if (stage.at) count(*stage.at);
    for (const workload::Requirement& item : stage.require) count(item.at);
    for (const workload::Reservation& item : stage.reserve) count(item.spec.at);
    if (!stage.plan) continue;
    for (const auto* list :
         {&stage.plan->reclaim, &stage.plan->enter, &stage.plan->prefetch, &stage.plan->exit}) {
      for (const workload::NamedAction& action : *list) count(action.at);
    }
  }
  return needed;
}

Machine select_machine(const DeviceChoice& choice, const workload::Workload& workload) {
  return select_machine(choice, workload.world, devices_needed(workload));
}

Machine select_machine(const DeviceChoice& choice, const workload::World& world, int devices) {
  Machine machine = select_machine(choice, devices);
  for (const auto& [a, b] : world.peers) {
    if (machine.driver->are_peers(a, b)) continue;
    throw memory::DeviceError(
        "choosing devices",
        fmt::format("the document says that {} and {} copy to each other directly, and these "
                    "two of {} do not reach each other",
                    a.name(), b.name(), machine.driver->describe(a)));
  }
  return machine;
}

}  // namespace fheres::runtime
