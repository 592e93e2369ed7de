#pragma once

#include <optional>
#include <string>
#include <vector>

#include <fheres/runtime/machine.hpp>

#include "parser.hpp"

namespace fheres::cli {

/// `--device auto|emulated|cuda:N`, repeatable, checked when the options are parsed.
Option* add_device(Command& command, std::vector<std::string>& names, const std::string& text);
/// What the names choose; nothing, and a message, where several are not all cuda devices.
std::optional<runtime::DeviceChoice> device_choice(const std::vector<std::string>& names);

}  // namespace fheres::cli
