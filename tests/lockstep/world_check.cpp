#include <algorithm>

#include <fmt/format.h>

#include "lockstep/pattern.hpp"
#include "lockstep/world.hpp"

namespace fheres::lockstep {
namespace {

Bytes account_used(const std::vector<residency::Account>& accounts, Location at) {
  for (const residency::Account& account : accounts) {
    if (account.at == at) return account.used;
  }
  return 0;
}

}  // namespace

void World::check() {
  std::size_t copies = 0;  // that may be under way
  for (const auto& [key, arrival] : rules_->arrivals()) copies += arrival.staging != 0 ? 2 : 1;
  expect(machine_->queued_copies() <= copies, "a transition ended before its copy");  // R19
  expect(late_readers_->empty(), late_readers_->empty() ? "" : late_readers_->front());
  const residency::Snapshot snapshot = manager_->snapshot();
  note_compaction(snapshot);
  check_values(snapshot);
  check_addresses(snapshot);
  check_locations(snapshot);
  check_shadow(snapshot);
  check_version(snapshot.version);
  check_trace();

  const residency::State state = manager_->planning_state();  // R26
  const std::vector<residency::Account> recount = state.recount();
  for (const residency::Account& account : state.accounts()) {
    expect(account_used(recount, account.at) == account.used,
           fmt::format("{} accounts {} B used, a recount gives {} B", account.at.name(), account.used,
                       account_used(recount, account.at)));
    for (const residency::Account& again : recount) {
      expect(again.at != account.at || again.reserved == account.reserved,
             fmt::format("{}: reserved differs from its recount", account.at.name()));
    }
  }
}

void World::check_values(const residency::Snapshot& snapshot) const {
  expect(snapshot.manager == rules_manager_, "a snapshot of another manager");
  expect(snapshot.values.size() == rules_->values().size(),
         fmt::format("expected {} values, got {}", rules_->values().size(), snapshot.values.size()));
  for (std::size_t serial = 0; serial < snapshot.values.size(); ++serial) {
    const residency::ValueSnapshot& seen = snapshot.values[serial];
    const RuleValue& value = rules_->values()[serial];
    expect(seen.handle.serial == serial && seen.handle.manager == rules_manager_, "a handle out of order");
    expect(*seen.spec == value.spec, fmt::format("v{} has another specification", serial));
    expect(seen.discarded == value.discarded, fmt::format("v{}: discarded is {}", serial, seen.discarded));
    expect(seen.source == value.source, fmt::format("v{} has another source", serial));
    expect(seen.materializations.size() == value.copies.size(),
           fmt::format("v{}: expected {} materializations, got {}", serial, value.copies.size(),
                       seen.materializations.size()));
    auto copy = value.copies.begin();
    for (const residency::MaterializationSnapshot& there : seen.materializations) {
      const std::string where = fmt::format("v{} at {}", serial, copy->first.name());
      expect(there.at == copy->first, where + fmt::format(" is seen at {}", there.at.name()));
      expect(there.logical_bytes == value.spec.logical_bytes, where + " has other logical bytes");
      expect(there.charged_bytes == value.spec.storage_bytes, where + " is charged something else");
      expect(there.actual_bytes == copy->second.actual,
             fmt::format("{}: expected {} actual bytes, got {}", where, copy->second.actual,
                         there.actual_bytes));
      expect(there.arriving == copy->second.arriving, where + " is wrong about arriving");
      const residency::Protection& seen_as = there.protection;
      expect(seen_as.use == copy->second.use && seen_as.hold == copy->second.hold &&
                 seen_as.pending == copy->second.pending.size(),
             fmt::format("{}: expected use {}, hold {}, pending {}; got {}, {}, {}", where, copy->second.use,
                         copy->second.hold, copy->second.pending.size(), seen_as.use, seen_as.hold,
                         seen_as.pending));
      ++copy;
    }
  }
}

/// R27: every block is where the rules have it. Where they cannot know, they learn it; blocks never overlap.
void World::check_addresses(const residency::Snapshot& snapshot) {
  if (fault_hit()) addresses_unknown_ = true;
  for (const residency::ValueSnapshot& value : snapshot.values) {
    for (const residency::MaterializationSnapshot& there : value.materializations) {
      const RuleCopy& copy = rules_->values()[value.handle.serial].copies.at(there.at);
      if (!there.offset) continue;
      if (addresses_unknown_) {
        rules_->readdress(value.handle.serial, there.at, there.offset);
      } else {
        expect(copy.offset == there.offset,
               fmt::format("v{} is at {} of {}, expected {}", value.handle.serial, *there.offset,
                           there.at.name(), copy.offset.value_or(~Bytes{0})));
      }
    }
  }
  if (!addresses_unknown_) return;
  for (const Location at : places_) expect(rules_->rebuild_arena(at), "two blocks overlap at " + at.name());
  for (const residency::LocationSnapshot& seen : snapshot.locations)
    rules_->set_compacted(seen.account.at, seen.compacted);
}

void World::note_compaction(const residency::Snapshot& snapshot) {
  Bytes slid = 0;
  for (const residency::LocationSnapshot& seen : snapshot.locations) slid += seen.compacted;
  compactions_ += slid != compacted_ ? 1 : 0;
  compacted_ = slid;
}

void World::check_locations(const residency::Snapshot& snapshot) const {
  for (const Location at : places_) {
    const residency::LocationSnapshot* seen = snapshot.at(at);
    if (seen == nullptr) {  // R2: no account before the first use
      expect(!rules_->budget(at) && rules_->charged(at) == 0, at.name() + " has no account");
      continue;
    }
    const residency::Account& account = seen->account;
    const auto same = [&](const char* what, Bytes expected, Bytes got) {
      expect(expected == got, fmt::format("{}: expected {} B {}, got {} B", at.name(), expected, what, got));
    };
    expect(account.budget == rules_->budget(at), at.name() + " has another budget");
    same("used", rules_->used(at), account.used);
    same("reserved", rules_->reserved(at), account.reserved);
    same("peak used", rules_->peak_used(at), account.peak_used);
    if (!staging_was_open_ || at != Location::pinned_host())
      same("peak charged", rules_->peak_charged(at), account.peak_charged);
    same("allocated", rules_->allocated(at), seen->allocated);
    same("compacted", rules_->compacted(at), seen->compacted);
    if (at != Location::pageable_host() && account.budget)
      same("free in one piece", rules_->largest_free(at), seen->largest_free);
    if (const std::optional<Bytes> budget = rules_->budget(at)) {  // R24
      expect(account.peak_charged <= *budget, at.name() + " overshot its budget");
      expect(seen->peak_allocated <= *budget, at.name() + " allocated more than its budget");
      same("remaining", *budget - rules_->charged(at), account.remaining().value_or(0));
    } else {
      expect(!account.remaining().has_value(), at.name() + " has no budget and something remains");
    }
  }
  Bytes reserved = 0, expected = 0;
  for (const residency::ReservationRecord& record : snapshot.reservations) reserved += record.spec.bytes;
  for (const Location at : places_) expected += rules_->reserved(at);
  for (const auto& [key, arrival] : rules_->arrivals()) expected -= arrival.staging;  // it has no name
  expect(reserved == expected,
         fmt::format("expected {} B in named reservations, got {} B", expected, reserved));
  for (const auto& [key, reservation] : rules_->reservations()) {
    if (!reservation.open) continue;
    const bool found =
        std::any_of(snapshot.reservations.begin(), snapshot.reservations.end(), [&](const auto& record) {
          return record.spec.label == reservation.label && record.spec.at == reservation.at;
        });
    expect(found, "the snapshot lacks reservation `" + reservation.label + "`");
  }
}

/// State, fed the same operations without a manager, must have come to the same.
void World::check_shadow(const residency::Snapshot& snapshot) const {
  expect(shadow_->records().size() == snapshot.values.size(), "state has another number of values");
  for (std::size_t serial = 0; serial < snapshot.values.size(); ++serial) {
    const residency::ValueRecord& record = shadow_->records()[serial];
    const residency::ValueSnapshot& seen = snapshot.values[serial];
    expect(record.discarded == seen.discarded && record.source == seen.source && *record.spec == *seen.spec,
           fmt::format("state has another v{}", serial));
    expect(record.materializations.size() == seen.materializations.size(),
           fmt::format("state has v{} elsewhere", serial));
    for (std::size_t i = 0; i < record.materializations.size(); ++i) {
      expect(record.materializations[i].at == seen.materializations[i].at &&
                 record.materializations[i].actual_bytes == seen.materializations[i].actual_bytes &&
                 record.materializations[i].protection == seen.materializations[i].protection &&
                 record.materializations[i].arrival.has_value() == seen.materializations[i].arriving,
             fmt::format("state has another materialization of v{}", serial));
    }
  }
  for (const residency::LocationSnapshot& seen : snapshot.locations) {
    const residency::Account* account = shadow_->account(seen.account.at);
    const residency::Account none{seen.account.at, seen.account.budget, 0, 0, 0, 0};
    const residency::Account& own = account != nullptr ? *account : none;
    expect(
        own.used == seen.account.used && own.reserved == seen.account.reserved &&
            own.peak_used == seen.account.peak_used &&
            (own.peak_charged == seen.account.peak_charged ||
             (staging_was_open_ && own.at == Location::pinned_host())),
        fmt::format("state accounts {} differently: used {}, reserved {}, peaks {} and {}; the manager {}, "
                    "{}, {} and {}",
                    own.at.name(), own.used, own.reserved, own.peak_used, own.peak_charged, seen.account.used,
                    seen.account.reserved, seen.account.peak_used, seen.account.peak_charged));
  }
}

void World::check_version(std::uint64_t version) {  // R48
  const std::vector<std::uint64_t> print = rules_->fingerprint();
  if (print != last_fingerprint_) {
    expect(version > last_version_, fmt::format("the state changed, and its version stayed {}", version));
  } else if (!version_may_grow_) {
    expect(version == last_version_,
           fmt::format("nothing changed, and the version went from {} to {}", last_version_, version));
  }
  expect(version >= last_version_, "the version went back");
  last_version_ = version;
  last_fingerprint_ = print;
}

void World::check_trace() const {  // R51
  const std::vector<residency::TransitionReport> trace = manager_->trace();
  expect(trace.size() == std::min<std::uint64_t>(completed_, trace_capacity_),
         fmt::format("expected {} reports in the trace, got {}",
                     std::min<std::uint64_t>(completed_, trace_capacity_), trace.size()));
  for (std::size_t i = 0; i + 1 < trace.size(); ++i) {
    expect(trace[i].sequence + 1 == trace[i + 1].sequence, "the trace has a gap");
  }
}

/// Every byte of every materialization, at the end of a sequence.
void World::check_all_contents() {
  for (std::uint64_t serial = 0; serial < rules_->values().size(); ++serial) {
    for (const auto& [at, copy] : rules_->values()[serial].copies) {
      const residency::HandleId handle{rules_manager_, serial};
      const memory::Stream stream =
          at.is_cuda() ? streams_[at.device() == 0 ? 0 : 2].stream : memory::Stream();
      const residency::Lease lease = manager_->acquire({handle}, at, stream);
      expect(has_pattern_of(serial, lease.view(handle)),
             fmt::format("v{} at {} holds something else", serial, at.name()));
    }
  }
}

}  // namespace fheres::lockstep
