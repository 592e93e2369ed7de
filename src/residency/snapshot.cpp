#include <fheres/base/clock.hpp>
#include <fheres/residency/snapshot.hpp>

#include "residency/core.hpp"

namespace fheres::residency {
namespace {

LocationSnapshot look_at(const Core& core, const Account& account) {
  LocationSnapshot seen;
  seen.account = account;
  for (const ValueRecord& record : core.state.records()) {
    const Materialization* m = record.at(account.at);
    if (m == nullptr) continue;
    ++seen.materializations;
    seen.protection.use += m->protection.use;
    seen.protection.hold += m->protection.hold;
    seen.protection.pending += m->protection.pending;
  }
  if (const auto& region = core.regions[account.at.index()]) {
    seen.allocated = region->allocated();
    seen.peak_allocated = region->peak_allocated();
    seen.largest_free = region->largest_free();
    const auto slid = core.compacted.find(account.at);
    if (slid != core.compacted.end()) seen.compacted = slid->second;
  }
  return seen;
}

std::optional<Bytes> offset_of(const Core& core, std::size_t serial, Location at) {
  const auto& region = core.regions[at.index()];
  if (!region || !region->has_arena()) return std::nullopt;
  for (const Placed& placed : core.stored[serial].blocks)
    if (placed.at == at && placed.block.region() == region && placed.block.bytes() != 0)
      return region->offset_of(placed.block);
  return std::nullopt;
}

std::optional<ExpansionSnapshot> expansion_of(Core& core, HandleId value, const Materialization& m) {
  if (!m.arrival || !m.arrival->backing) return std::nullopt;
  ExpansionSnapshot seen{m.arrival->from, m.arrival->temporary, {}};
  const auto& region = core.regions[m.at.index()];
  const Arriving* arriving = core.arriving(value, m.at);
  if (arriving != nullptr && region && region->has_arena() && arriving->temporary.bytes() != 0)
    seen.offset = region->offset_of(arriving->temporary);
  return seen;
}

}  // namespace

const LocationSnapshot* Snapshot::at(Location location) const {
  for (const LocationSnapshot& l : locations)
    if (l.account.at == location) return &l;
  return nullptr;
}

Snapshot Core::snapshot() {
  Snapshot seen;
  {
    const std::lock_guard lock(mutex);
    check_open();
    reap();
    seen.manager = id;
    seen.version = state.version();
    seen.time_ns = now_ns();
    const auto records = state.records();
    seen.values.reserve(records.size());
    for (std::size_t serial = 0; serial < records.size(); ++serial) {
      const ValueRecord& record = records[serial];
      ValueSnapshot& value = seen.values.emplace_back();
      value.handle = state.handle(serial);
      value.spec = record.spec;
      value.source = record.source;
      value.backing = record.backing;
      value.discarded = record.discarded;
      for (const Materialization& m : record.materializations)
        value.materializations.push_back(
            {m.at, record.spec->logical_bytes, m.actual_bytes, record.spec->storage_bytes, m.protection,
             offset_of(*this, serial, m.at), m.arrival.has_value(), expansion_of(*this, value.handle, m)});
    }
    for (const Account& account : state.accounts()) seen.locations.push_back(look_at(*this, account));
    seen.reservations.assign(state.reservations().begin(), state.reservations().end());
  }
  // A device may take its time to answer, so it is asked without the mutex.
  for (LocationSnapshot& l : seen.locations) l.device = observe(l.account.at);
  return seen;
}

}  // namespace fheres::residency
