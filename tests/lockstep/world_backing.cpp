// Values that are expanded from others (R66).
#include <iterator>

#include <fmt/format.h>

#include "lockstep/pattern.hpp"
#include "lockstep/world.hpp"

namespace fheres::lockstep {

std::optional<std::uint64_t> World::draw_backing(Random& random) const {
  std::vector<std::uint64_t> fitting;
  for (std::uint64_t serial = 0; serial < rules_->values().size(); ++serial) {
    const RuleValue& value = rules_->values()[serial];
    if (!value.discarded && !value.copies.empty() && !value.backing) fitting.push_back(serial);
  }
  if (fitting.empty()) return std::nullopt;
  return fitting[random.below(fitting.size())];
}

std::optional<std::uint64_t> World::draw_backed(Random& random) const {
  if (expansions_.empty()) return std::nullopt;
  auto drawn = expansions_.begin();
  std::advance(drawn, static_cast<std::ptrdiff_t>(random.below(expansions_.size())));
  return drawn->first;
}

void World::register_backed(Random& random) {
  ValueSpec spec = draw_spec(random);
  residency::HandleId backing = draw_handle(random);
  const std::optional<std::uint64_t> fitting = draw_backing(random);
  if (fitting && !random.chance(8)) backing = {rules_manager_, *fitting};
  std::set<std::string> refusals;
  if (!random.chance(15)) {
    spec.recoverability = residency::Recoverability::reconstructible;
  } else {
    refusals.insert({kArgument});
  }
  if (backing.manager != rules_manager_ || !rules_->handle_is_good(backing.serial)) {
    refusals.insert(kHandle);
  } else {
    const RuleValue& from = rules_->values()[backing.serial];
    if (from.backing) refusals.insert(kArgument);  // one level
    if (from.copies.empty()) refusals.insert(kUnavailable);
  }
  auto state = std::make_shared<ExpandState>();
  state->content = next_content_++;
  if (refusals.empty()) state->backing_content = contents_.at(backing.serial);
  doing_ = fmt::format("v{} of {} B on v{}", contents_.size(), spec.storage_bytes, backing.serial);
  residency::HandleId handle;
  const Outcome outcome = attempt([&] {
    handle = manager_->register_backed(
        spec, backing,
        [this, state](const residency::BlockView& from, const residency::ExpandTarget& to,
                      const memory::Stream& stream) { expand(*state, from, to, stream); });
  });
  if (!settle(outcome, refusals, {})) return;
  rules_->register_backed(spec, backing.serial);
  expect(std::holds_alternative<residency::HandleId>(shadow_->register_backed(spec, backing)),
         "state refuses to register a value on its backing");
  expansions_[handle.serial] = state;
  new_value(state->content, handle);
}

void World::expand_values_badly(Random& random) {
  for (auto& [serial, expansion] : expansions_) {
    if (random.chance(8)) expansion->next = static_cast<ExpandState::Next>(1 + random.below(2));
  }
}

void World::expand(const ExpandState& state, const residency::BlockView& from,
                   const residency::ExpandTarget& to, const memory::Stream& stream) {
  using Next = ExpandState::Next;
  source_misbehaved_ = source_misbehaved_ || state.next != Next::good;
  expect(from.at == to.at, "an expansion from " + from.at.name() + " to " + to.at.name());
  expect(static_cast<bool>(stream) == to.at.is_cuda(), "an expansion with the wrong kind of stream");
  expect(to.bytes == to.spec->logical_bytes, "an expansion to a block of another size");
  manager_->state_version();  // the manager stays open, but for what would need the transition lock
  const Outcome nested = attempt([&] { manager_->reserve(to.at, 0, "nested"); });
  expect(nested.code == "residency/reentrancy", "a transition inside an expansion is not refused");
  if (state.next == Next::throws) throw SourceFailed();
  const auto work = [late = late_readers_, from, to, content = state.content,
                     backing = state.backing_content] {
    if (!has_pattern(from.data, from.spec->logical_bytes, backing))
      late->push_back("an expansion of '" + to.spec->name + "' read something else");
    fill_pattern(to.data, to.bytes, content);
  };
  if (stream) {
    driver_->enqueue(stream, work);
  } else {
    work();
  }
  if (state.next == Next::throws_late) throw SourceFailed();
}

void World::count_expansion(const Action& action, const Expectation& expected, bool done) {
  if (expected.work != Expectation::Work::expand) return;
  expanded_.failed += done ? 0 : 1;
  if (!done) return;
  (expected.source == expected.destination ? expanded_.in_place : expanded_.copied) += 1;
  expanded_.staged += expected.staging != 0 ? 1 : 0;
  expanded_.asynchronous += expected.asynchronous ? 1 : 0;
  const RuleValue& value = rules_->values()[residency::value_of(action).serial];
  expanded_.instead_of_copy += value.copies.empty() ? 0 : 1;
}

void World::failures_of_expansion(const ExpandState& state, const Expectation& expected,
                                  std::set<std::string>& failures) const {
  if (!expected.has_piece) {
    failures.insert(kBudget);
  } else if (state.next != ExpandState::Next::good) {
    failures.insert(kSourceFailed);
  }
}

void World::check_expansions(const residency::ValueSnapshot& seen) const {
  const RuleValue& value = rules_->values()[seen.handle.serial];
  const std::optional<std::uint64_t> backing =
      seen.backing ? std::optional(seen.backing->serial) : std::nullopt;
  expect(backing == value.backing, fmt::format("v{} has another backing", seen.handle.serial));
  for (const residency::MaterializationSnapshot& there : seen.materializations) {
    bool expands = false;
    for (const auto& [key, arrival] : rules_->arrivals()) {
      if (arrival.serial != seen.handle.serial || arrival.at != there.at || arrival.reads == arrival.serial)
        continue;
      expands = true;
      expect(there.expansion && there.expansion->read_at == arrival.from &&
                 there.expansion->temporary == arrival.temporary,
             fmt::format("v{} at {} is expanded otherwise", seen.handle.serial, there.at.name()));
      if (!addresses_unknown_ && there.expansion->offset)
        expect(there.expansion->offset == arrival.kept_offset, "the copy of a backing is elsewhere");
    }
    expect(expands == there.expansion.has_value(),
           fmt::format("v{} at {} is wrong about being expanded", seen.handle.serial, there.at.name()));
  }
}

}  // namespace fheres::lockstep
