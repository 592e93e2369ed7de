#pragma once

#include <memory>
#include <string>
#include <vector>

#include <fheres/ckks/context.hpp>
#include <fheres/memory/driver.hpp>
#include <fheres/workload/model.hpp>

namespace fheres::runtime {

/// What `--device` says. `automatic`: a usable GPU where there is one, else emulated.
struct DeviceChoice {
  enum class Kind { automatic, emulated, cuda };
  Kind kind = Kind::automatic;
  /// For Kind::cuda: the document's cuda:i runs on the machine's device devices[i].
  std::vector<int> devices;
};

/// A driver, and back ends for its locations. `note` says in one line why the choice fell on it, or is empty.
struct Machine {
  std::shared_ptr<memory::Driver> driver;
  std::string note;

  /// The context that computes at a location: CUDA or emulated on a cuda location, the host's back end on the others.
  ckks::Context context(const scheme::Parameters& parameters, memory::Location at) const;
};

/// One more than the largest cuda index that the workload names, 0 for none.
int devices_needed(const workload::Workload& workload);

/// A machine with so many cuda devices. Throws memory::DeviceError where the choice cannot be had.
Machine select_machine(const DeviceChoice& choice, int devices);
/// A machine for the workload. Throws memory::DeviceError where the choice cannot be had, and where it contradicts the
/// document: too few devices, or peers that do not reach each other (R64).
Machine select_machine(const DeviceChoice& choice, const workload::Workload& workload);
/// The same for what else has a world, with so many devices.
Machine select_machine(const DeviceChoice& choice, const workload::World& world, int devices);

}  // namespace fheres::runtime
