#include <algorithm>

#include <fheres/workload/model.hpp>

namespace fheres::workload {

std::map<Location, Bytes> World::budgets() const {
  std::map<Location, Bytes> result;
  for (const LocationEntry& entry : locations) {
    if (entry.budget) result[entry.at] = *entry.budget;
  }
  return result;
}

residency::CopyRules World::copies() const {
  residency::CopyRules rules;
  rules.peers = peers;
  return rules;
}

void World::set_budget(Location at, Bytes budget) {
  const auto place = std::find_if(locations.begin(), locations.end(),
                                  [&](const LocationEntry& entry) { return entry.at >= at; });
  if (place != locations.end() && place->at == at) {
    place->budget = budget;
  } else {
    locations.insert(place, LocationEntry{at, budget, {}});
  }
}

std::optional<ValueIndex> World::find(std::string_view name) const {
  for (ValueIndex i = 0; i < values.size(); ++i) {
    if (values[i].name.text == name) return i;
  }
  return std::nullopt;
}

}  // namespace fheres::workload
