// Copies and expansions that are on their way (R21 to R23).
#include <fmt/format.h>

#include "lockstep/world.hpp"

namespace fheres::lockstep {

// Each copy that uses a stream ends with an event, and the order of a report is that of the events.
void World::note_arrival(const Expectation& expected, Bytes actual) {
  using Work = Expectation::Work;
  const bool expands = expected.work == Work::expand;
  if (expected.work != Work::copy && expected.work != Work::load && !expands) return;
  const bool queued = expands && expected.destination->is_cuda();  // whatever it reads
  if (!queued && expected.source == expected.destination) return;
  if (!expected.source->is_cuda() && !expected.destination->is_cuda()) return;
  const Bytes copied = expands ? expected.bytes : actual;
  if (!queued && copied == 0 && !expected.asynchronous) return;
  used_records_ += expected.staging != 0 ? 2 : 1;
  expect(used_records_ <= records_.size(), "a copy between devices or from one ended without an event");
  if (expected.asynchronous && expected.temporary != 0) open_charges_.insert(*expected.destination);
  // It may end before the plan's next action, and then its ends may slide.
  if (expected.asynchronous && !by_rule_) addresses_unknown_ = addresses_unknown_ || several_;
  note_staging(expected, copied);
  if (expected.asynchronous) arrivals_.emplace(rules_->last_arrival(), records_[used_records_ - 1]);
}

// Where a copy between devices went through pinned-host. Its block goes when the machine gets there, which in the
// middle of a plan nobody outside can tell, and so not what later blocks find free.
void World::note_staging(const Expectation& expected, Bytes actual) {
  const Location pinned = Location::pinned_host();
  const bool through = expected.staging != 0;
  if (!expected.source->is_cuda() || actual == 0 || (!through && expected.destination != pinned)) return;
  expect(used_outs_ < outs_.size(), "nothing was copied from a device to the host");
  const std::byte* block = outs_[used_outs_++];
  if (!through || !expected.asynchronous) return;
  open_charges_.insert(pinned);
  if (!rules_->budget(pinned)) return;
  const std::uint64_t key = rules_->last_arrival();
  const Bytes offset = static_cast<Bytes>(block - pinned_region_);
  expect(addresses_unknown_ || rules_->arrivals().at(key).offset == offset,
         fmt::format("a copy is staged at {} of pinned-host, expected {}", offset,
                     rules_->arrivals().at(key).offset.value_or(~Bytes{0})));
  rules_->readdress_staging(key, offset);
}

bool World::is_under_way(std::uint64_t arrival) const {
  const Position& position = arrivals_.at(arrival);
  return machine_->executed(position.stream) < position.executed;
}

void World::end_arrival(std::uint64_t arrival) {
  const RuleArrival ended = rules_->arrivals().at(arrival);
  rules_->settle(arrival);
  shadow_->settle({rules_manager_, ended.serial}, ended.at);
  arrivals_.erase(arrival);
}

void World::finish_arrivals(bool all) {
  if (by_rule_ && !all) return;
  for (auto entry = arrivals_.begin(); entry != arrivals_.end();) {
    const std::uint64_t key = entry->first;
    if (is_under_way(key)) {
      ++entry;
      continue;
    }
    ++entry;
    end_arrival(key);
  }
}

void World::settle_in_the_way(const Action& action) {
  for (const std::uint64_t key : rules_->arrivals_in_the_way(action)) {
    expect(!is_under_way(key), text_of(action) + " came before an arrival of its value was settled");
    end_arrival(key);
  }
}

/// R23: at the end of a plan's body.
void World::settle_reads(const Plan& plan) {
  for (const residency::ValuePlace& read : plan.reads) {
    const std::optional<std::uint64_t> key = rules_->arrival_at(read);
    if (!key) continue;
    expect(!is_under_way(*key), "exit came before what the body has read was settled");
    end_arrival(*key);
  }
}

void World::settle_arrival(Random& random) {  // R23
  residency::HandleId value = draw_handle(random);
  Location at = draw_resident_place(random);
  if (!rules_->arrivals().empty() && !random.chance(4)) {
    auto drawn = rules_->arrivals().begin();
    std::advance(drawn, static_cast<std::ptrdiff_t>(random.below(rules_->arrivals().size())));
    value.serial = drawn->second.serial;
    value.manager = rules_manager_;
    at = drawn->second.at;
  }
  doing_ = fmt::format("v{} at {}", value.serial, at.name());
  std::set<std::string> refusals;
  if (value.manager != rules_manager_ || !rules_->handle_is_good(value.serial)) {
    refusals.insert(kHandle);
  } else if (!rules_->resident(value.serial, at)) {
    refusals.insert(kUnavailable);
  }
  const Outcome outcome = attempt([&] { manager_->settle(value, at); });
  if (!settle(outcome, refusals, {})) return;
  if (const auto key = rules_->arrival_at({value, at}); by_rule_ && key) end_arrival(*key);
  finish_tickets();
  expect(!rules_->values()[value.serial].copies.at(at).arriving, "settle returned before the copy was done");
}

}  // namespace fheres::lockstep
