#include "placement.hpp"

#include <fheres/base/check.hpp>
#include <fheres/ckks/evaluator.hpp>
#include <fheres/ckks/expansion.hpp>

namespace fheres::runtime {
namespace {

/// What opaque values hold. Not zero, so that a block that was never copied shows.
constexpr std::byte kOpaquePattern{0xA5};

memory::Extent extent_of(std::span<const std::byte> bytes) {
  // A copy's source is only read; Extent serves both ends.
  return {memory::Location::pageable_host(), const_cast<std::byte*>(bytes.data()), bytes.size()};
}

/// What a source makes: encoded again, or read from its file.
std::vector<std::byte> bytes_of(const workload::Value& value, Origins origins) {
  if (!value.file) return origins.client.encode(value);
  std::vector<std::byte> bytes(value.spec.logical_bytes);
  origins.files.read(value, bytes);
  return bytes;
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

residency::Source source_of(residency::Manager& manager, const workload::Value& value, Origins origins) {
  // A source runs during a transition, where nothing else of the manager may be called, so the copy goes through the
  // driver with a stream that was made before. Of the client only the encoder is used.
  const memory::Location at = *value.source;
  const memory::Stream stream = at.is_cuda() ? manager.transfer_stream(at) : memory::Stream{};
  return [&value, origins, stream](residency::LoadContext& context) -> residency::Loaded {
    memory::Block block = context.allocate(value.spec.logical_bytes);
    if (value.file && !stream) {
      origins.files.read(value, {block.data(), value.spec.logical_bytes});
      return block;
    }
    const std::vector<std::byte> bytes = bytes_of(value, origins);
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

void fill(residency::Manager& manager, const memory::Extent& block) {
  write(manager, block, std::vector<std::byte>(block.bytes, kOpaquePattern));
}

residency::HandleId place_opaque(residency::Manager& manager, const workload::Value& value) {
  residency::Allocation allocation = manager.allocate(value.at.front(), value.spec.logical_bytes);
  fill(manager, allocation.extent());
  return manager.adopt(std::move(allocation), value.at.front(), value.spec);
}

bool is_made_by_client(const workload::Value& value) {
  return value.type && !value.produced_by && !value.backing && !value.source && !value.file;
}

residency::HandleId place(residency::Manager& manager, const workload::Value& value, Origins origins,
                          std::vector<std::byte> made) {
  if (value.source)
    return manager.register_source(value.spec, source_of(manager, value, origins), *value.source);
  if (!value.type) return place_opaque(manager, value);
  if (value.file) made = bytes_of(value, origins);
  residency::Allocation allocation = manager.allocate(value.at.front(), value.spec.logical_bytes);
  write(manager, allocation.extent(), made);
  return manager.adopt(std::move(allocation), value.at.front(), value.spec);
}

residency::HandleId place_backed(residency::Manager& manager, const workload::Value& value,
                                 const workload::Value& half, residency::HandleId backing,
                                 std::function<const ckks::Context&(memory::Location)> contexts) {
  return manager.register_backed(
      value.spec, backing,
      [&value, &half, contexts = std::move(contexts)](
          const residency::BlockView& from, const residency::ExpandTarget& to, const memory::Stream& stream) {
        const ckks::Context& context = contexts(to.at);
        const scheme::Parameters& parameters = context.parameters();
        const std::span<const std::byte> stored{from.data, from.spec->logical_bytes};
        const std::span<std::byte> whole{to.data, to.spec->logical_bytes};
        if (value.type->kind == scheme::Kind::plaintext) {
          ckks::Evaluator(context).expand(ckks::PlaintextView(parameters, *half.type, stored),
                                          ckks::PlaintextRef(parameters, *value.type, whole), stream);
        } else {
          ckks::expand(context, ckks::KeyView(parameters, *half.type, stored),
                       ckks::KeyRef(parameters, *value.type, whole), stream);
        }
      });
}

}  // namespace fheres::runtime
