#include "report/where.hpp"

#include <fmt/format.h>

#include <fheres/memory/location.hpp>

namespace fheres::report {

std::string place_text(const workload::Place& place) {
  return place.known() ? fmt::format("{}:{}:{}", place.file.str(), place.line, place.column) : std::string();
}

bool is_device(const std::string& at) {
  const auto location = memory::Location::from_name(at);
  return location && location->is_cuda();
}

}  // namespace fheres::report
