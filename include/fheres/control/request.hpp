#pragma once

#include <compare>
#include <string>
#include <vector>

#include <fheres/residency/handle.hpp>
#include <fheres/residency/plan.hpp>
#include <fheres/residency/state.hpp>

namespace fheres::control {

using memory::Location;
using residency::HandleId;

/// One endpoint: this value must be at this location when the body runs.
struct Requirement {
  HandleId value{};
  Location at = Location::pageable_host();
  friend auto operator<=>(const Requirement&, const Requirement&) = default;
};

/// What a stage needs, without saying how to get there (R52). Plain data; everything that is decided about it
/// is a function of it.
struct Request {
  std::string name{};                  // not empty
  std::vector<Requirement> require{};  // at least one, no pair twice; entered in this order where possible
  std::vector<residency::ReservationSpec> reserve{};  // labels not empty; zero bytes allowed
  friend bool operator==(const Request&, const Request&) = default;
};

/// Throws std::invalid_argument where the request breaks R52 or names a location that is not present, HandleError
/// for a handle that is foreign, unknown or discarded, OwnershipError for an exclusive value at two locations.
void check_request(const Request& request, const residency::State& state);

}  // namespace fheres::control
