#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include <fheres/memory/cuda.hpp>
#include <fheres/memory/emulated.hpp>
#include <fheres/report/json.hpp>
#include <fheres/report/table.hpp>
#include <fheres/runtime/self_test.hpp>

#include "command.hpp"
#include "options.hpp"

namespace fheres::cli {
namespace {

using report::Json;
using report::Table;

struct DevicesOptions {
  bool check = false;
  CommonOptions common;
};

/// Prints what a device answered; whether all of it was right.
bool check_device(memory::Location at, const runtime::Machine& machine, const std::string& name,
                  const CommonOptions& common, Json& list) {
  bool passed = true;
  Table table({{"check"}, {"result"}, {"host", Table::Align::right}, {"device", Table::Align::right}});
  for (const runtime::SelfTestStep& step : runtime::self_test(machine, at)) {
    passed = passed && step.passed;
    table.add({step.name, step.passed ? "pass" : "FAIL: " + step.detail,
               report::format_duration(static_cast<double>(step.host_ns)),
               report::format_duration(static_cast<double>(step.device_ns))});
    list.push_back({{"device", name},
                    {"check", step.name},
                    {"passed", step.passed},
                    {"detail", step.detail},
                    {"timing", {{"host_ns", step.host_ns}, {"device_ns", step.device_ns}}}});
  }
  if (!common.json && !common.quiet) fmt::print("\n{}\n{}", name, table.render());
  return passed;
}

/// Every device, the emulated one too.
bool check_all(int count, const CommonOptions& common, Json& list) {
  bool passed = true;
  if (count > 0) {
    const runtime::Machine machine{memory::make_cuda_driver(), ""};
    for (int index = 0; index < count; ++index) {
      const memory::Location at = memory::Location::cuda(index);
      passed = check_device(at, machine, at.name(), common, list) && passed;
    }
  }
  const runtime::Machine emulated{memory::make_emulated_driver({}), ""};
  return check_device(memory::Location::cuda(0), emulated, "emulated", common, list) && passed;
}

ExitCode devices(const DevicesOptions& options) {
  const CommonOptions& common = options.common;
  Table table({{"device"}, {"name"}, {"memory", Table::Align::right}, {"free now", Table::Align::right}});
  Json list = Json::array();
  const int count = memory::cuda_device_count();
  if (count > 0) {
    const auto driver = memory::make_cuda_driver();
    for (int index = 0; index < count; ++index) {
      const memory::Location at = memory::Location::cuda(index);
      const auto observed = driver->observe(at);
      table.add({at.name(), driver->describe(at), observed ? format_bytes(observed->total) : "unknown",
                 observed ? format_bytes(observed->free) : "unknown"});
      Json item = {{"device", at.name()}, {"name", driver->describe(at)}};
      if (observed) item["observed"] = {{"free", observed->free}, {"total", observed->total}};
      list.push_back(std::move(item));
    }
  }
  table.add({"emulated", "emulated device, on this machine's processor", "as the document says", ""});
  if (!common.json && !common.quiet) {
    fmt::print("{}", table.render(0));
    if (count == 0) fmt::print("no usable CUDA device: {}\n", memory::cuda_status());
  }
  Json checks = Json::array();
  const bool passed = !options.check || check_all(count, common, checks);
  if (common.json) {
    Json json = {
        {"schema", "fheres/devices/v1"}, {"cuda", std::move(list)}, {"cuda_status", memory::cuda_status()}};
    if (options.check) json["checks"] = std::move(checks);
    fmt::print("{}", report::render(json));
  }
  return passed ? ExitCode::done : ExitCode::wrong_result;
}

}  // namespace

void add_devices(Command& app, Action& action) {
  auto options = std::make_shared<DevicesOptions>();
  Command* command = app.add_subcommand("devices", "the devices that `run --device` can use here");
  command->add_flag("--check", options->check,
                    "known-answer test of each: transform, key switch, expansion, against the host");
  add_common(*command, options->common);
  command->footer("example: fheres devices --check");
  command->callback([options, &action] { action = [options] { return devices(*options); }; });
}

}  // namespace fheres::cli
