// What a value can be expanded from, and what that keeps in place (R66).
#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/residency/state.hpp>

namespace fheres::residency {
namespace {

using Rule = Refusal::Rule;

}  // namespace

std::variant<HandleId, Refusal> State::register_backed(const ValueSpec& spec, HandleId backing) {
  check_spec(spec);
  if (spec.recoverability != Recoverability::reconstructible)
    throw std::invalid_argument(
        fmt::format("'{}' has a backing, so its specification must say reconstructible", spec.name));
  if (auto refusal = check(backing)) return *refusal;
  const ValueRecord& from = values_[backing.serial];
  if (from.backing)
    throw std::invalid_argument(
        fmt::format("'{}' cannot back '{}': it has a backing of its own, '{}', and one level is all there is",
                    from.spec->name, spec.name, values_[from.backing->serial].spec->name));
  if (from.materializations.empty()) return Refusal{.rule = Rule::no_backing, .value = backing};
  const HandleId value = add_value(spec, Recoverability::reconstructible);
  values_.edit(value.serial).backing = backing;
  values_.edit(backing.serial).dependents.push_back(value);
  ++version_;
  return value;
}

// The replica that an expansion at `to` reads: the one that is there, else as a copy of the backing would.
const Materialization* State::backing_for(const ValueRecord& record, Location to) const {
  if (!record.backing) return nullptr;
  const ValueRecord& backing = values_[record.backing->serial];
  const Materialization* there = backing.at(to);
  return there != nullptr ? there : source_of(backing, to, std::nullopt);
}

// A full replica is copied where there is one, but for an ensure that is to be fast, names no source and would have
// less to copy (R14).
bool State::expands(const Transition& t, std::optional<Location> from, const Materialization* source,
                    const Materialization* backing) const {
  if (backing == nullptr) return false;
  if (source == nullptr) return true;
  const bool free_to_choose = std::holds_alternative<Ensure>(t.action) && !from.has_value();
  const Bytes to_copy = backing->at == *t.destination ? 0 : backing->actual_bytes;
  return free_to_choose && copies_.source_order == SourceOrder::fastest && to_copy < source->actual_bytes;
}

// R21: what is queued runs on a device; at a host location the expansion would run on the host.
std::optional<Refusal> State::expansion_refusal(HandleId value, const Materialization& backing,
                                                Location to) const {
  if (to.is_host()) return Refusal{.rule = Rule::host_expansion, .value = value, .at = to};
  if (backing.at == Location::pageable_host())
    return Refusal{.rule = Rule::pageable_end, .value = value, .at = backing.at};
  return std::nullopt;
}

std::optional<Rule> State::last_copy_rule(const ValueRecord& record) const {
  if (record.spec->recoverability == Recoverability::must_preserve) return Rule::last_copy;
  if (!record.dependents.empty()) return Rule::last_backing;
  if (record.backing && values_[record.backing->serial].discarded) return Rule::backing_gone;
  return std::nullopt;
}

std::optional<Refusal> State::last_copy_refusal(HandleId value, Location at) const {
  const ValueRecord& record = values_[value.serial];
  const std::optional<Rule> rule = last_copy_rule(record);
  if (!rule) return std::nullopt;
  Refusal refusal{.rule = *rule, .value = value, .at = at};
  refusal.dependents = record.dependents.size();
  if (!record.dependents.empty()) refusal.dependent = record.dependents.front();
  return refusal;
}

// A backing may end once every value that it backs has a copy, which then has to stay.
std::optional<Refusal> State::needed_backing(HandleId value) const {
  Refusal refusal{.rule = Rule::needed_backing, .value = value};
  for (const HandleId dependent : values_[value.serial].dependents) {
    if (!values_[dependent.serial].materializations.empty()) continue;
    if (refusal.dependents++ == 0) refusal.dependent = dependent;
  }
  if (refusal.dependents == 0) return std::nullopt;
  return refusal;
}

}  // namespace fheres::residency
