#include <algorithm>

#include <fheres/residency/value_record.hpp>

namespace fheres::residency {

const Materialization* ValueRecord::at(Location location) const {
  for (const Materialization& m : materializations)
    if (m.at == location) return &m;
  return nullptr;
}

std::size_t ValueTable::search(std::uint64_t serial) const {
  const auto found = std::lower_bound(serials_.begin(), serials_.end(), serial);
  FHERES_CHECK(found != serials_.end() && *found == serial);
  return static_cast<std::size_t>(found - serials_.begin());
}

ValueTable ValueTable::only(std::vector<std::uint64_t> serials) const {
  std::sort(serials.begin(), serials.end());
  serials.erase(std::unique(serials.begin(), serials.end()), serials.end());
  ValueTable some;
  some.size_ = size_;
  some.partial_ = true;
  for (const std::uint64_t serial : serials) some.rows_.push_back((*this)[serial]);
  some.serials_ = std::move(serials);
  return some;
}

}  // namespace fheres::residency
