// Core's addresses: what explain replays, and how room is made (R27).
#include <algorithm>

#include <fheres/base/check.hpp>

#include "residency/core.hpp"

namespace fheres::residency {

Layout Core::layout(std::optional<std::span<const HandleId>> only) const {
  Layout now;
  const auto follow = [&](Location at) -> bool {
    const auto& storage = regions[at.index()];
    return storage && storage->has_arena();
  };
  for (const auto& [at, budget] : options.budgets)
    if (follow(at)) now.follow(at, regions[at.index()]->arena());
  const auto add = [&](HandleId value) {
    for (const Placed& placed : stored[value.serial].blocks)
      if (follow(placed.at) && placed.block.region() == regions[placed.at.index()])
        now.add(value, placed.at,
                {regions[placed.at.index()]->offset_of(placed.block), placed.block.bytes()});
  };
  for (const Arriving& a : arrivals) {
    const auto keep = [&](Location at, const memory::Block& block) {
      if (block && follow(at))
        now.keep_for_arrival(a.value, a.at, at, {regions[at.index()]->offset_of(block), block.bytes()});
    };
    keep(a.at, a.temporary);
    keep(Location::pinned_host(), a.staging);
  }
  if (only) {
    std::vector<bool> seen(stored.size());
    for (const HandleId value : *only) {
      if (value.manager != id || value.serial >= stored.size() || seen[value.serial]) continue;
      seen[value.serial] = true;
      add(value);
    }
    now.mark_partial();
    return now;
  }
  for (std::size_t serial = 0; serial < stored.size(); ++serial) add(state.handle(serial));
  for (const Carving& carving : carvings) {
    const ReservationRecord* record = state.reservation(carving.id);
    if (record == nullptr || !follow(record->spec.at)) continue;
    for (const Carving::Piece& piece : carving.pieces)
      now.add(record->spec.label, record->spec.at, {piece.offset, piece.bytes});
  }
  return now;
}

Core::Made Core::make_block(Location at, Bytes bytes, memory::End end) {
  const auto storage = region(at);
  Made made;
  // Blocks are carved without the transition lock, so what was brought together may be gone again.
  for (;;) {
    if (std::optional<memory::Block> block = storage->try_allocate(bytes, end)) {
      made.block = std::move(*block);
      return made;
    }
    if (!storage->has_arena()) {
      made.block = storage->allocate(bytes);  // or its error
      return made;
    }
    made.compacted += compact(*storage, bytes);
  }
}

void Core::gather(Location at, Bytes bytes) {
  const TransitionLock transition(*this);
  {
    const std::lock_guard lock(mutex);
    check_open();
    reap();
  }
  const auto storage = region(at);
  if (!storage->has_arena() || storage->largest_free() >= round_up_to_granule(bytes)) return;
  try {
    compact(*storage, bytes);
  } catch (const BudgetError&) {
    // Protected blocks are in the way: each block looks for its own piece then.
  }
}

Bytes Core::compact(memory::Region& storage, Bytes bytes) {
  const Location at = storage.at();
  // Nothing that is unprotected now becomes protected or goes away while the transition lock is held.
  std::vector<memory::Block*> movable;
  auto begun = [&] {
    const std::lock_guard lock(mutex);
    for (std::size_t serial = 0; serial < stored.size(); ++serial) {
      memory::Block* block = stored[serial].find(at);
      if (block != nullptr && block->region().get() == &storage && may_slide(state, state.handle(serial), at))
        movable.push_back(block);
    }
    auto planned = storage.relocate(movable, bytes);
    if (std::holds_alternative<memory::Obstruction>(planned)) {
      const auto placed = layout().keep(state, at, bytes, "");
      if (const auto* refusal = std::get_if<Refusal>(&placed)) raise(*refusal, state);
    }
    return planned;
  }();
  if (std::holds_alternative<memory::Obstruction>(begun)) return 0;  // freed by somebody meanwhile
  memory::Relocation relocation = std::move(std::get<memory::Relocation>(begun));
  const Bytes slid = relocation.bytes();
  try {
    if (slid != 0) relocation.copy(at.is_cuda() ? transfer_stream(at) : memory::Stream{});
  } catch (const memory::DeviceError& error) {
    if (error.call == memory::Relocation::kLost) {
      const std::lock_guard lock(mutex);
      warnings.push_back(error.what());
    }
    throw;
  }
  const std::lock_guard lock(mutex);
  relocation.commit();
  compacted[at] += slid;
  for (PeakWatch* watch : watches) watch->note_compaction(at, slid);
  return slid;
}

}  // namespace fheres::residency
