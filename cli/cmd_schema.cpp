#include <cstdio>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fheres/report/json.hpp>

#include "command.hpp"
#include "options.hpp"
#include "resources.hpp"

namespace fheres::cli {
namespace {

using report::Json;

constexpr std::string_view kSuffix = ".schema.json";
constexpr std::string_view kReports = "reports.schema.json";

struct SchemaOptions {
  std::string kind;
  CommonOptions common;
};

/// Kinds of documents have a file each, kinds of output are definitions of one.
std::vector<std::string> kinds() {
  std::vector<std::string> names;
  for (const Resource& item : resources()) {
    if (item.name.ends_with(kSuffix) && item.name != kReports)
      names.emplace_back(item.name.substr(0, item.name.size() - kSuffix.size()));
  }
  const Json reports = Json::parse(resource(kReports));
  for (const Json& output : reports["oneOf"]) {
    const std::string reference = output["$ref"];
    names.push_back(reference.substr(reference.rfind('/') + 1));
  }
  return names;
}

/// The definitions that a piece of a schema refers to, and those that they refer to.
void collect(const Json& piece, const Json& definitions, std::set<std::string>& names) {
  if (piece.is_object() && piece.contains("$ref")) {
    const std::string reference = piece["$ref"];
    const std::string name = reference.substr(reference.rfind('/') + 1);
    if (names.insert(name).second) collect(definitions[name], definitions, names);
  }
  if (piece.is_structured()) {
    for (const Json& member : piece) collect(member, definitions, names);
  }
}

/// One kind of output with what it needs, as a schema of its own.
std::string output_schema(const std::string& kind) {
  const Json reports = Json::parse(resource(kReports));
  const Json& definitions = reports["$defs"];
  Json schema = {{"$schema", reports["$schema"]}, {"title", "fheres " + kind}};
  schema.update(definitions[kind]);
  std::set<std::string> names;
  collect(schema, definitions, names);
  for (const auto& [name, definition] : definitions.items()) {
    if (names.contains(name)) schema["$defs"][name] = definition;
  }
  return report::render(schema);
}

ExitCode schema(const SchemaOptions& options) {
  for (const Resource& item : resources()) {
    if (item.name != options.kind + std::string(kSuffix)) continue;
    if (!options.common.quiet || options.common.json) fmt::print("{}", item.text);
    return ExitCode::done;
  }
  if (!options.common.quiet || options.common.json) fmt::print("{}", output_schema(options.kind));
  return ExitCode::done;
}

}  // namespace

void add_schema(Command& app, Action& action) {
  auto options = std::make_shared<SchemaOptions>();
  Command* command = app.add_subcommand(
      "schema", "the JSON Schema of a kind of document, or of what a command prints with --json");
  command->add_option("kind", options->kind, "a kind of document, or the middle word of an output's `schema`")
      ->required()
      ->one_of(kinds());
  add_common(*command, options->common);
  command->footer("example: fheres schema workload > workload.schema.json");
  command->callback([options, &action] { action = [options] { return schema(*options); }; });
}

}  // namespace fheres::cli
