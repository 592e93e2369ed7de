#pragma once

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>

#include <fheres/memory/cuda.hpp>
#include <fheres/memory/emulated.hpp>
#include <fheres/residency/manager.hpp>

// What the programs share: a machine, a value to move, and a way to say that something should be so.
namespace sample {

using fheres::Bytes;
using fheres::kMiB;
using fheres::memory::Location;

inline const Location kPageable = Location::pageable_host();
inline const Location kPinned = Location::pinned_host();
inline const Location kDevice = Location::cuda(0);

/// A real GPU where there is one, else the emulated device: the programs do not care.
inline std::shared_ptr<fheres::memory::Driver> machine() {
  if (fheres::memory::cuda_device_count() > 0) return fheres::memory::make_cuda_driver();
  return fheres::memory::make_emulated_driver();
}

/// A value of opaque bytes, as residency sees every value.
inline fheres::residency::ValueSpec spec(const std::string& name, Bytes bytes) {
  fheres::residency::ValueSpec spec;
  spec.name = name;
  spec.type = "bytes";
  spec.logical_bytes = spec.storage_bytes = bytes;
  return spec;
}

/// Makes a value in pageable memory, every byte `fill`, and hands it to the manager.
inline fheres::residency::HandleId adopt(fheres::residency::Manager& manager, const std::string& name,
                                         Bytes bytes, int fill) {
  auto block = manager.allocate(kPageable, bytes);
  std::memset(block.data(), fill, bytes);
  return manager.adopt(std::move(block), kPageable, spec(name, bytes));
}

/// Ends the program with the reason where something that it shows is not so.
inline void expect(bool condition, const std::string& what) {
  if (condition) return;
  std::cerr << "not so: " << what << "\n";
  std::exit(1);
}

}  // namespace sample
