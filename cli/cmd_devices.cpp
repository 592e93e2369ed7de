#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include <fheres/memory/cuda.hpp>
#include <fheres/report/json.hpp>
#include <fheres/report/table.hpp>

#include "command.hpp"
#include "options.hpp"

namespace fheres::cli {
namespace {

using report::Json;

ExitCode devices(const CommonOptions& common) {
  report::Table table({{"device"},
                       {"name"},
                       {"memory", report::Table::Align::right},
                       {"free now", report::Table::Align::right}});
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
  if (common.json) {
    fmt::print("{}", report::render({{"schema", "fheres/devices/v1"},
                                     {"cuda", std::move(list)},
                                     {"cuda_status", memory::cuda_status()}}));
  } else if (!common.quiet) {
    fmt::print("{}", table.render(0));
    if (count == 0) fmt::print("no usable CUDA device: {}\n", memory::cuda_status());
  }
  return ExitCode::done;
}

}  // namespace

void add_devices(CLI::App& app, Action& action) {
  auto common = std::make_shared<CommonOptions>();
  CLI::App* command = app.add_subcommand("devices", "the devices that `run --device` can use here");
  add_common(*command, *common);
  command->footer("example: fheres devices --json");
  command->callback([common, &action] { action = [common] { return devices(*common); }; });
}

}  // namespace fheres::cli
