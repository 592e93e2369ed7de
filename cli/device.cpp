#include "device.hpp"

#include <cstdio>

#include <fmt/format.h>

namespace fheres::cli {
namespace {

/// Nothing where the text is a device; else why not.
std::string check_device(const std::string& text) {
  const auto at = memory::Location::from_name(text);
  if (text == "auto" || text == "emulated" || (at && at->is_cuda())) return "";
  return fmt::format("`{}` is no device; expected auto, emulated, or cuda:0 to cuda:127", text);
}

}  // namespace

Option* add_device(Command& command, std::vector<std::string>& names, const std::string& text) {
  return command.add_option("--device", names, text)->check(check_device)->take_all()->type_name("DEVICE");
}

std::optional<runtime::DeviceChoice> device_choice(const std::vector<std::string>& names) {
  runtime::DeviceChoice choice;
  for (const std::string& name : names) {
    if (const auto at = memory::Location::from_name(name)) {
      choice.kind = runtime::DeviceChoice::Kind::cuda;
      choice.devices.push_back(at->device());
    } else if (names.size() > 1) {
      fmt::print(stderr, "fheres: several --device must all be cuda devices\n");
      return std::nullopt;
    } else if (name == "emulated") {
      choice.kind = runtime::DeviceChoice::Kind::emulated;
    }
  }
  return choice;
}

}  // namespace fheres::cli
