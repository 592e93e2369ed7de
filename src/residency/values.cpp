// How values come in: allocate, adopt, register_source, register_backed.
#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include <fheres/base/check.hpp>

#include "residency/core.hpp"

namespace fheres::residency {
namespace {

// R4, R7: the block is what the specification says. Before anything changes.
void check_block(const memory::Block& block, Location at, const ValueSpec& spec) {
  check_spec(spec);
  if (!block)
    throw std::invalid_argument(fmt::format("'{}' cannot be adopted from an empty block", spec.name));
  if (block.at() != at)
    throw MaterializationError(
        fmt::format("the block of '{}' is at {}, expected {}", spec.name, block.at().name(), at.name()));
  if (block.bytes() < spec.logical_bytes || block.bytes() > spec.storage_bytes)
    throw MaterializationError(fmt::format("the block of '{}' has {} B, expected {} to {} B", spec.name,
                                           block.bytes(), spec.logical_bytes, spec.storage_bytes));
}

HandleId value_or_raise(const std::variant<HandleId, Refusal>& made, const State& state) {
  if (const auto* refusal = std::get_if<Refusal>(&made)) raise(*refusal, state);
  return std::get<HandleId>(made);
}

Refusal too_small(Location at, Bytes available, Bytes requested) {
  Refusal refusal;
  refusal.rule = Refusal::Rule::budget;
  refusal.at = at;
  refusal.budget = available;
  refusal.requested = requested;
  return refusal;
}

}  // namespace

Allocation Core::allocate(Location at, Bytes bytes) {
  const TransitionLock transition(*this);
  ReservationId charge;
  {
    const std::lock_guard lock(mutex);
    reap();
    const auto made = state.reserve({at, bytes, "unadopted"});
    if (const auto* refusal = std::get_if<Refusal>(&made)) raise(*refusal, state);
    charge = std::get<ReservationId>(made);
    carvings.push_back({charge, round_up_to_granule(bytes), true});
    note_peak(at);
  }
  try {
    memory::Block block = make_block(at, bytes).block;
    {
      const std::lock_guard lock(mutex);
      note_carved(charge, block);
      note_peak(at);
    }
    return Allocation(shared_from_this(), charge, std::move(block));
  } catch (...) {
    end_allocation(charge, nullptr, bytes);
    throw;
  }
}

HandleId Core::announce(const ValueSpec& spec) {
  const TransitionLock transition(*this);
  const std::lock_guard lock(mutex);
  const HandleId value = state.announce(spec);
  stored.emplace_back();
  return value;
}

HandleId Core::adopt(Allocation& allocation, Location at, const ValueSpec& spec) {
  return adopt(allocation, at, spec, std::nullopt);
}

void Core::adopt(Allocation& allocation, Location at, HandleId announced) {
  const ValueSpec spec = [&] {
    const std::lock_guard lock(mutex);
    check_open();
    if (const auto refusal = state.check(announced)) raise(*refusal, state);
    return *state.record(announced).spec;
  }();
  adopt(allocation, at, spec, announced);
}

HandleId Core::adopt(Allocation& allocation, Location at, const ValueSpec& spec,
                     std::optional<HandleId> announced) {
  check_block(allocation.block_, at, spec);
  if (allocation.core_.get() != this)
    throw OwnershipError(fmt::format("the block of '{}' belongs to another manager", spec.name));
  const TransitionLock transition(*this);
  const std::lock_guard lock(mutex);
  reap();
  // Before a reservation grows for it: a failed adopt charges nothing (R4).
  if (announced) {
    if (const auto refusal = state.check_announced(*announced)) raise(*refusal, state);
  }
  const ReservationId payer = allocation.charge_;
  const auto carving =
      std::find_if(carvings.begin(), carvings.end(), [&](const Carving& c) { return c.id == payer; });
  FHERES_CHECK(carving != carvings.end() && state.reservation(payer) != nullptr);
  const Bytes own = round_up_to_granule(allocation.block_.bytes());
  const Bytes reserved = state.reservation(payer)->spec.bytes;
  const Bytes room = reserved - (carving->carved - own);  // what other carved blocks do not need
  if (room < spec.storage_bytes) {
    // A reservation that somebody made pays alone (R38); the charge of a lone block may grow to its value's.
    if (!carving->released) raise(too_small(at, room, spec.storage_bytes), state);
    if (const auto refusal = state.resize(payer, reserved + (spec.storage_bytes - room)))
      raise(*refusal, state);
  }
  const Bytes bytes = allocation.block_.bytes();
  HandleId value;
  if (announced) {
    if (const auto refusal = state.adopt(*announced, at, bytes, payer)) raise(*refusal, state);
    value = *announced;
  } else {
    value = value_or_raise(state.adopt(spec, at, bytes, payer), state);
    stored.emplace_back();
  }
  carving->forget(allocation.block_.data(), bytes);
  stored[value.serial].blocks.push_back({at, std::move(allocation.block_)});
  carving->carved -= own;
  if (carving->carved == 0 && carving->released) {
    state.release(payer);
    carvings.erase(carving);
  }
  note_peak(at);
  allocation.core_.reset();
  return value;
}

HandleId Core::adopt(memory::Block& block, Location at, const ValueSpec& spec,
                     std::optional<ReservationId> from) {
  check_block(block, at, spec);
  const TransitionLock transition(*this);
  const std::lock_guard lock(mutex);
  reap();
  if (from) {
    const ReservationRecord* payer = state.reservation(*from);
    const auto carving =
        std::find_if(carvings.begin(), carvings.end(), [&](const Carving& c) { return c.id == *from; });
    const Bytes carved = carving == carvings.end() ? 0 : carving->carved;
    if (payer != nullptr && payer->spec.bytes - carved < spec.storage_bytes)
      raise(too_small(at, payer->spec.bytes - carved, spec.storage_bytes), state);
  }
  const HandleId value = value_or_raise(
      from ? state.adopt(spec, at, block.bytes(), *from) : state.adopt(spec, at, block.bytes()), state);
  stored.emplace_back().blocks.push_back({at, std::move(block)});
  note_peak(at);
  return value;
}

HandleId Core::register_source(const ValueSpec& spec, Source source, Location at) {
  if (!source) throw std::invalid_argument(fmt::format("the source of '{}' is empty", spec.name));
  auto shared = std::make_shared<const Source>(std::move(source));
  const TransitionLock transition(*this);
  const std::lock_guard lock(mutex);
  const HandleId value = state.register_source(spec, at);
  stored.emplace_back().source = std::move(shared);
  return value;
}

HandleId Core::register_backed(const ValueSpec& spec, HandleId backing, Expand expand) {
  if (!expand) throw std::invalid_argument(fmt::format("the expansion of '{}' is empty", spec.name));
  auto shared = std::make_shared<const Expand>(std::move(expand));
  const TransitionLock transition(*this);
  const std::lock_guard lock(mutex);
  const HandleId value = value_or_raise(state.register_backed(spec, backing), state);
  stored.emplace_back().expand = std::move(shared);
  return value;
}

}  // namespace fheres::residency
