#include <fmt/format.h>

#include <fheres/control/decision.hpp>
#include <fheres/residency/errors.hpp>

namespace fheres::control {
namespace {

std::string names(const std::vector<Location>& locations) {
  std::string text;
  for (std::size_t i = 0; i < locations.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == locations.size() ? " and " : ", ") + locations[i].name();
  }
  return text;
}

}  // namespace

std::string Eviction::reason() const {
  const std::string name = spec->name.empty() ? fmt::format("value {}", value_of(action).serial) : spec->name;
  std::string text;
  switch (why) {
    case Why::spare:
      text = fmt::format("{}: replica at {} dropped, {} at {}", name, released.name(),
                         remains.size() == 1 ? "a copy stays" : "copies stay", names(remains));
      break;
    case Why::reconstructible:
      text = fmt::format("{}: last replica at {} dropped, its source at {} can rebuild it", name,
                         released.name(), source ? source->name() : "?");
      break;
    case Why::offloaded:
      text = fmt::format("{}: {} at {} moved to {}", name, restored ? "replica" : "only copy",
                         released.name(), names(remains));
      break;
  }
  text += fmt::format("; {} released; priority {}, ", format_bytes(bytes), priority);
  text += access_epoch == 0 ? "never accessed" : fmt::format("last accessed in epoch {}", access_epoch);
  if (restored) {
    text += fmt::format("; required at {}, so it comes back", released.name());
  } else if (requested_elsewhere) {
    text += "; required elsewhere";
  }
  return text;
}

std::string Conflict::text() const {
  const std::string size = format_bytes(bytes);
  switch (kind) {
    case Kind::requirement:
      return fmt::format("{} ({}) required at {}", name, size, at.name());
    case Kind::reservation:
      return fmt::format("{} ({}) to be reserved at {}", name, size, at.name());
    case Kind::reserved:
      return fmt::format("{} ({}) reserved at {}", name, size, at.name());
    case Kind::in_use:
      return fmt::format("{} ({}) protected at {} ({} in use, {} held, {} pending)", name, size, at.name(),
                         counts.use, counts.hold, counts.pending);
    case Kind::only_copy:
      return fmt::format("{} ({}) kept at {}", name, size, at.name());
    case Kind::staged:
      return fmt::format("{} ({}) staged at {} on its way", name, size, at.name());
  }
  return name;
}

Decision decision_or_throw(Outcome outcome) {
  if (const auto* infeasible = std::get_if<Infeasible>(&outcome))
    throw residency::PlanError(infeasible->reason);
  if (const auto* open = std::get_if<Inconclusive>(&outcome)) {
    throw residency::SearchLimitError(open->request, open->limit, open->explored_states, open->detail);
  }
  return std::get<Decision>(std::move(outcome));
}

}  // namespace fheres::control
