#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include <fheres/residency/state.hpp>

namespace fheres::residency {
namespace {

std::string label(HandleId value, const State& state) {
  if (value.manager == state.manager() && value.serial < state.size()) {
    const std::string& name = state.record(value).spec->name;
    if (!name.empty()) return fmt::format("'{}'", name);
  }
  return fmt::format("value {}", value.serial);
}
std::string label(const Refusal& refusal, const State& state) { return label(refusal.value, state); }

std::string budget_text(const Refusal& r) {
  // Subtractions cannot wrap: admission keeps used + reserved within the budget.
  const Bytes room = r.budget - r.used - r.reserved;
  return fmt::format("{} requested at {}, but of a budget of {} are {} used and {} reserved: {} short",
                     format_exact_bytes(r.requested), r.at.name(), format_exact_bytes(r.budget),
                     format_bytes(r.used), format_bytes(r.reserved), format_exact_bytes(r.requested - room));
}

constexpr std::size_t kNamedBlocks = 8;

std::string fragmented_text(const Refusal& r) {
  std::string names;
  const std::size_t count = r.in_the_way ? r.in_the_way->size() : 0;
  for (std::size_t i = 0; i < std::min(count, kNamedBlocks); ++i)
    names += fmt::format("{}'{}'", i == 0 ? "" : ", ", (*r.in_the_way)[i]);
  if (count > kNamedBlocks) names += fmt::format(" and {} more", count - kNamedBlocks);
  return fmt::format("{} requested at {}, but the largest free piece is {}{}{}",
                     format_exact_bytes(r.requested), r.at.name(), format_exact_bytes(r.largest_free),
                     count == 0 ? "" : ": protected blocks keep the free bytes apart: ", names);
}

}  // namespace

std::string describe(const Refusal& r, const State& state) {
  using Rule = Refusal::Rule;
  switch (r.rule) {
    case Rule::foreign_handle:
      return fmt::format("value {} belongs to another manager", r.value.serial);
    case Rule::unknown_handle:
      return fmt::format("value {} is unknown: the manager has {} values", r.value.serial, state.size());
    case Rule::discarded_handle:
      return fmt::format("{} is discarded", label(r, state));
    case Rule::unavailable:
      return fmt::format("{} is not at {}", label(r, state), r.at.name());
    case Rule::budget:
      return budget_text(r);
    case Rule::in_use:
      return fmt::format("{} at {} is protected: {} in use, {} held, {} pending", label(r, state),
                         r.at.name(), r.counts.use, r.counts.hold, r.counts.pending);
    case Rule::exclusive_elsewhere:
      return fmt::format("{} is exclusive and already at {}: move it instead", label(r, state), r.at.name());
    case Rule::last_copy:
      return fmt::format("{} at {} is the last copy of a value that must be preserved", label(r, state),
                         r.at.name());
    case Rule::last_backing:
      return fmt::format(
          "{} at {} is the last copy of what {} values are expanded from, {} the first of them",
          label(r, state), r.at.name(), r.dependents, label(r.dependent, state));
    case Rule::backing_gone:
      return fmt::format("{} at {} is the last copy, and its backing {} is discarded", label(r, state),
                         r.at.name(), label(*state.record(r.value).backing, state));
    case Rule::needed_backing:
      return fmt::format(
          "{} cannot be discarded: {} values that are expanded from it have no copy, {} the "
          "first of them",
          label(r, state), r.dependents, label(r.dependent, state));
    case Rule::no_backing:
      return fmt::format("{} has no copy, so nothing can be expanded from it", label(r, state));
    case Rule::absent_location:
      return fmt::format("{} is not present on this machine", r.at.name());
    case Rule::closed_reservation:
      return "the reservation is released";
    case Rule::not_announced:
      return fmt::format("{} is not announced: it has its bytes already", label(r, state));
    case Rule::fragmented:
      return fragmented_text(r);
    case Rule::host_expansion:
      return fmt::format("{} cannot arrive asynchronously at {}: its expansion there runs on the host",
                         label(r, state), r.at.name());
    case Rule::pageable_end:
      return r.at == Location::pageable_host()
                 ? fmt::format(
                       "{} cannot arrive asynchronously: expected a copy between pinned-host and devices, "
                       "one "
                       "end is {}",
                       label(r, state), r.at.name())
                 : fmt::format("{} cannot arrive asynchronously: it has no copy, and its source loads at {}",
                               label(r, state), r.at.name());
  }
  return {};
}

void raise(const Refusal& r, const State& state) {
  using Rule = Refusal::Rule;
  const std::string text = describe(r, state);
  switch (r.rule) {
    case Rule::foreign_handle:
      throw HandleError(HandleError::Reason::foreign, r.value, text);
    case Rule::unknown_handle:
      throw HandleError(HandleError::Reason::unknown, r.value, text);
    case Rule::discarded_handle:
      throw HandleError(HandleError::Reason::discarded, r.value, text);
    case Rule::unavailable:
    case Rule::pageable_end:
    case Rule::host_expansion:
    case Rule::no_backing:
      throw UnavailableError(text);
    case Rule::budget:
      throw BudgetError(r.at, r.budget, r.used, r.reserved, r.requested, text);
    case Rule::fragmented:
      throw FragmentedError(r.at, r.budget, r.used, r.reserved, r.requested, r.largest_free,
                            r.in_the_way ? *r.in_the_way : std::vector<std::string>{}, text);
    case Rule::in_use:
      throw InUseError(r.counts, text);
    case Rule::exclusive_elsewhere:
    case Rule::last_copy:
    case Rule::last_backing:
    case Rule::backing_gone:
    case Rule::needed_backing:
    case Rule::not_announced:
      throw OwnershipError(text);
    case Rule::absent_location:
      throw std::invalid_argument(text);
    case Rule::closed_reservation:
      throw LifetimeClosedError(text);
  }
  throw std::logic_error("a refusal without a rule");
}

}  // namespace fheres::residency
