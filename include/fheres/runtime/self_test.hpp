#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <fheres/runtime/machine.hpp>

namespace fheres::runtime {

/// One question with a known answer.
struct SelfTestStep {
  std::string name;  // `expansion`, `transform`, `key switch`
  bool passed = false;
  std::string detail;          // what differed, or empty
  std::int64_t host_ns = 0;    // on the host's back end
  std::int64_t device_ns = 0;  // on the device, queued and waited for, copies apart
};

/// Known-answer test of one location, which must have a device: a seed is expanded, polynomials are transformed there and
/// back, a ciphertext is rotated with an expanded key, at N = 2^12. The host's residues must have the hashes that stand
/// here, and the device's must be the host's, word for word. Takes a few MiB of the device's memory for as long as it
/// runs. memory::DeviceError, AllocationError where the device fails.
std::vector<SelfTestStep> self_test(const Machine& machine, memory::Location device);

}  // namespace fheres::runtime
