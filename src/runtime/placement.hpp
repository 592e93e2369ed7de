#pragma once

#include <memory>
#include <span>
#include <vector>

#include <fheres/residency/manager.hpp>
#include <fheres/runtime/client.hpp>
#include <fheres/workload/model.hpp>

namespace fheres::runtime {

/// Copies host bytes into a block anywhere, complete on return.
void write(residency::Manager& manager, const memory::Extent& destination, std::span<const std::byte> bytes);
/// The bytes of a managed value, copied from wherever it is; complete on return.
std::vector<std::byte> read(residency::Manager& manager, residency::HandleId value);

/// Makes a declared value through the client and puts it at the first of its places, as a managed value; or registers
/// its source. Replicas at its other places are the caller's transitions. Opaque values get a fixed pattern.
residency::HandleId place(residency::Manager& manager, const workload::Value& value, Client& client);

}  // namespace fheres::runtime
