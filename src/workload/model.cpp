#include <algorithm>
#include <numeric>

#include <fheres/workload/model.hpp>

namespace fheres::workload {

control::DecideOptions PolicyEntry::applied_to(control::DecideOptions options) const {
  if (search_state_limit) options.search_state_limit = *search_state_limit;
  if (objective) options.objective = *objective;
  return options;
}

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

std::vector<ValueIndex> World::placement_order() const {
  std::vector<ValueIndex> order(values.size());
  std::iota(order.begin(), order.end(), ValueIndex{0});
  std::stable_partition(order.begin(), order.end(), [&](ValueIndex i) { return !values[i].backing; });
  return order;
}

}  // namespace fheres::workload
