#include "verify/holdings.hpp"

#include <algorithm>

#include <fheres/base/check.hpp>

namespace fheres::verify {

Copy* Holding::find(Location at) {
  for (Copy& copy : copies)
    if (copy.at == at) return &copy;
  return nullptr;
}

void Holding::add(Location at) {
  FHERES_CHECK(find(at) == nullptr);
  const auto next =
      std::find_if(copies.begin(), copies.end(), [&](const Copy& copy) { return copy.at > at; });
  copies.insert(next, Copy{at, 0, {}});
}

void Holding::remove(Location at) {
  std::erase_if(copies, [&](const Copy& copy) { return copy.at == at; });
}

std::string places(const Holding& holding) {
  std::string list;
  for (const Copy& copy : holding.copies) list += (list.empty() ? "" : ", ") + copy.at.name();
  return list.empty() ? "nowhere" : "at " + list;
}

Holdings::Holdings(const workload::World& world) : world_(world), holdings_(world.values.size()) {
  for (ValueIndex i = 0; i < world.values.size(); ++i) {
    if (world.values[i].produced_by) holdings_[i].is_made = false;
    if (const auto backing = world.values[i].backing; backing && *backing < holdings_.size())
      holdings_[*backing].backs.push_back(i);
  }
}

bool Holdings::must_stay(ValueIndex value) const {
  const workload::Value& what = world_.values[value];
  if (!holdings_[value].backs.empty()) return true;
  if (what.backing) return holdings_[*what.backing].is_released;
  return !what.source;
}

std::vector<Holdings::Place> Holdings::arrivals_at(ValueIndex value, std::optional<Location> gone) const {
  std::vector<Place> found;
  const auto ends_there = [&](ValueIndex whose) {
    for (const Copy& copy : holdings_[whose].copies) {
      if (!copy.arrival) continue;
      const bool arrives = whose == value && (!gone || copy.at == *gone);
      const bool reads = copy.arrival->reads == value && (!gone || copy.arrival->from == *gone);
      if (arrives || reads) found.push_back({whose, copy.at});
    }
  };
  ends_there(value);
  for (const ValueIndex dependent : holdings_[value].backs) ends_there(dependent);
  return found;
}

}  // namespace fheres::verify
