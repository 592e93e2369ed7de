#include "placement.hpp"

#include <fheres/base/check.hpp>

namespace fheres::runtime {
namespace {

/// What opaque values hold. Not zero, so that a block that was never copied shows.
constexpr std::byte kOpaquePattern{0xA5};

memory::Extent extent_of(std::span<const std::byte> bytes) {
  // A copy's source is only read; Extent serves both ends.
  return {memory::Location::pageable_host(), const_cast<std::byte*>(bytes.data()), bytes.size()};
}

void copy(residency::Manager& manager, const memory::Extent& destination, const memory::Extent& source) {
  memory::Driver& driver = manager.driver();
  if (destination.at.is_host() && source.at.is_host()) {
    driver.copy_host(destination, source);
    return;
  }
  const memory::Stream stream =
      manager.transfer_stream(destination.at.is_cuda() ? destination.at : source.at);
  driver.copy(stream, destination, source);
  driver.synchronize(stream);
}

residency::Source source_of(residency::Manager& manager, const workload::Value& value, const Client& client) {
  // Only the encoder is used: a source runs during a transition, where nothing else of the manager may be called, so
  // the copy goes through the driver with a stream that was made before.
  const memory::Location at = *value.source;
  const memory::Stream stream = at.is_cuda() ? manager.transfer_stream(at) : memory::Stream{};
  return [&value, &client, stream](residency::LoadContext& context) -> residency::Loaded {
    const std::vector<std::byte> bytes = client.encode(value);
    memory::Block block = context.allocate(bytes.size());
    if (stream) {
      context.driver().copy(stream, block.extent(), extent_of(bytes));
      context.driver().synchronize(stream);
    } else {
      context.driver().copy_host(block.extent(), extent_of(bytes));
    }
    return block;
  };
}

}  // namespace

void write(residency::Manager& manager, const memory::Extent& destination, std::span<const std::byte> bytes) {
  FHERES_CHECK(destination.bytes == bytes.size());
  copy(manager, destination, extent_of(bytes));
}

std::vector<std::byte> read(residency::Manager& manager, residency::HandleId value) {
  const auto places = manager.planning_state().record(value).materializations;
  FHERES_CHECK(!places.empty());
  const memory::Location at = places.front().at;
  const memory::Stream stream = at.is_cuda() ? manager.transfer_stream(at) : memory::Stream{};
  residency::Lease lease = manager.acquire({value}, at, stream);
  const residency::BlockView view = lease.view(value);
  std::vector<std::byte> bytes(view.spec->logical_bytes);
  copy(manager, {memory::Location::pageable_host(), bytes.data(), bytes.size()},
       {view.at, const_cast<std::byte*>(view.data), bytes.size()});
  lease.release(true);
  return bytes;
}

residency::HandleId place(residency::Manager& manager, const workload::Value& value, Client& client) {
  if (value.source)
    return manager.register_source(value.spec, source_of(manager, value, client), *value.source);
  const std::vector<std::byte> bytes =
      value.type ? client.make(value) : std::vector<std::byte>(value.spec.logical_bytes, kOpaquePattern);
  residency::Allocation allocation = manager.allocate(value.at.front(), value.spec.logical_bytes);
  write(manager, allocation.extent(), bytes);
  return manager.adopt(std::move(allocation), value.at.front(), value.spec);
}

}  // namespace fheres::runtime
