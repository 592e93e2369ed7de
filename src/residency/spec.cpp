#include <stdexcept>

#include <fmt/format.h>

#include <fheres/residency/spec.hpp>

namespace fheres::residency {

void check_spec(const ValueSpec& spec) {
  if (spec.type.empty()) throw std::invalid_argument("a specification needs a type, the one given is empty");
  if (spec.storage_bytes < spec.logical_bytes)
    throw std::invalid_argument(fmt::format("storage of {} B cannot hold {} logical B of '{}'",
                                            spec.storage_bytes, spec.logical_bytes, spec.name));
  if (spec.storage_bytes % kGranule != 0)
    throw std::invalid_argument(fmt::format("storage of '{}' must be a multiple of {} B, got {} B", spec.name,
                                            kGranule, spec.storage_bytes));
}

}  // namespace fheres::residency
