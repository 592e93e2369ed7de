#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include <fheres/report/json.hpp>
#include <fheres/report/table.hpp>

#include "command.hpp"
#include "planned_run.hpp"
#include "value_names.hpp"

namespace fheres::cli {
namespace {

using report::Json;
using report::Table;

struct KeysOptions {
  std::string file, plan;
  CommonOptions common;
  PlanningOptions planning;
};

ExitCode keys(const KeysOptions& options) {
  const auto workload = load_in_variants(options.file, options.plan, options.planning, options.common);
  if (!workload) return ExitCode::invalid;
  const scheme::Parameters& parameters = *workload->world.parameters;
  Table table({{"key"},
               {"kind"},
               {"steps", Table::Align::right},
               {"level", Table::Align::right},
               {"form"},
               {"bytes", Table::Align::right},
               {"file"}});
  Json list = Json::array();
  Bytes total = 0;
  for (const workload::ValueIndex index : keys_of(workload->world)) {
    const workload::Value& value = workload->world.values[index];
    const scheme::ValueType& type = *value.type;
    const Bytes bytes = scheme::bytes_of(parameters, type);
    const bool rotation = type.kind == scheme::Kind::rotation_key;
    const char* form = scheme::is_seeded(type) ? "seeded" : "full";
    total += bytes;
    table.add({value.client_name, scheme::name(type.kind), rotation ? std::to_string(type.steps) : "",
               std::to_string(type.level), form, format_bytes(bytes), value.file.value_or("")});
    list.push_back({{"name", value.client_name},
                    {"kind", scheme::name(type.kind)},
                    {"steps", rotation ? Json(type.steps) : Json(nullptr)},
                    {"level", type.level},
                    {"form", form},
                    {"bytes", bytes},
                    {"file", value.file ? Json(*value.file) : Json(nullptr)}});
  }
  const std::size_t count = list.size();
  const std::string name = parameters.name().empty() ? parameters.id() : parameters.name();
  if (options.common.json) {
    fmt::print("{}", report::render({{"schema", "fheres/keys/v1"},
                                     {"workload", workload->metadata.name.text},
                                     {"parameters", {{"name", name}, {"id", parameters.id()}}},
                                     {"keys", std::move(list)},
                                     {"total_bytes", total}}));
  } else if (!options.common.quiet) {
    fmt::print("{}: what a client makes for {}\n\n", workload->metadata.name.text, name);
    if (count != 0) fmt::print("{}\n", table.render());
    fmt::print("{}, {}\n", report::format_count(count, "key"), format_bytes(total));
  }
  return ExitCode::done;
}

}  // namespace

void add_keys(Command& app, Action& action) {
  auto options = std::make_shared<KeysOptions>();
  Command* command = app.add_subcommand(
      "keys", "the keys that a client must make for a Workload: rotation, level, form, bytes");
  names_file(command->add_option("workload", options->file, "the document"))->required();
  names_file(command->add_option(
      "--plan", options->plan, "a Plan that was compiled from it: keys in the variants that it has chosen"));
  add_common(*command, options->common);
  add_reading(*command, options->planning);
  command->footer("example: fheres keys samples/client-server.yaml --json");
  command->callback([options, &action] { action = [options] { return keys(*options); }; });
}

}  // namespace fheres::cli
