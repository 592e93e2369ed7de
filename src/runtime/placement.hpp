#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <fheres/residency/manager.hpp>
#include <fheres/runtime/client.hpp>
#include <fheres/runtime/value_source.hpp>
#include <fheres/workload/model.hpp>

namespace fheres::runtime {

/// Copies host bytes into a block anywhere, complete on return.
void write(residency::Manager& manager, const memory::Extent& destination, std::span<const std::byte> bytes);
/// The same with the pattern that opaque values hold.
void fill(residency::Manager& manager, const memory::Extent& block);
/// The bytes of a managed value, copied from wherever it is; complete on return.
std::vector<std::byte> read(residency::Manager& manager, residency::HandleId value);

/// Where declared values come from. Both outlive the manager: its sources use them.
struct Origins {
  Client& client;
  ValueFiles& files;
};

/// Whether the value's first bytes are the client's to make: not a file's, not its source's, not opaque.
bool is_made_by_client(const workload::Value& value);
/// Puts a declared value at the first of its places, as a managed value; or registers its source. `made` is what the
/// client made of it (is_made_by_client). Replicas at its other places are the caller's transitions. Opaque values get a
/// fixed pattern.
residency::HandleId place(residency::Manager& manager, const workload::Value& value, Origins origins,
                          std::vector<std::byte> made);
/// The same for an opaque value, for which nothing has to be made.
residency::HandleId place_opaque(residency::Manager& manager, const workload::Value& value);
/// Registers a full key that is expanded from its seeded half, or a prepared plaintext from its compact form, wherever
/// it is wanted (R66). `contexts` gives the context
/// that computes at a location; both it and the value outlive the manager.
residency::HandleId place_backed(residency::Manager& manager, const workload::Value& value,
                                 const workload::Value& half, residency::HandleId backing,
                                 std::function<const ckks::Context&(memory::Location)> contexts);

}  // namespace fheres::runtime
