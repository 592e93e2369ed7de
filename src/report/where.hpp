#pragma once

#include <string>

#include <fheres/workload/place.hpp>

namespace fheres::report {

/// `plan.yaml:12:7`; empty where it stands nowhere.
std::string place_text(const workload::Place& place);

/// Whether a report's location, by its name, is a device; false for what names no location.
bool is_device(const std::string& at);

}  // namespace fheres::report
