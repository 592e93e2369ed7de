#include <fheres/workload/evidence.hpp>

namespace fheres::workload {

std::optional<double> Evidence::gap() const {
  if (moved_bytes <= lower_bound_bytes) return 0.0;
  if (lower_bound_bytes == 0) return std::nullopt;
  return static_cast<double>(moved_bytes - lower_bound_bytes) / static_cast<double>(lower_bound_bytes);
}

}  // namespace fheres::workload
