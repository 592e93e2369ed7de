#include "document.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include <fheres/base/sha256.hpp>

#include "ci_output.hpp"

namespace fheres::cli {
namespace {

report::Json diagnostics_json(const documents::Loaded& loaded) {
  report::Json list = report::Json::array();
  for (const documents::Diagnostic& item : loaded.diagnostics) {
    list.push_back({{"code", item.code},
                    {"file", item.place.file.str()},
                    {"line", item.place.line},
                    {"column", item.place.column},
                    {"message", item.message},
                    {"hint", item.hint.empty() ? report::Json(nullptr) : report::Json(item.hint)}});
  }
  return list;
}

}  // namespace

std::optional<documents::Model> load_or_report(const std::string& file, const PlanningOptions& planning,
                                               const CommonOptions& common) {
  documents::Loaded loaded = documents::load(file, {planning.allow_outside, budgets_of(planning)});
  if (loaded.model) return std::move(loaded.model);
  report_invalid(file, loaded, common);
  return std::nullopt;
}

ExitCode report_invalid(const std::string& file, const documents::Loaded& loaded,
                        const CommonOptions& common) {
  print_diagnostics(loaded, common);
  if (is_for_ci(common)) {
    print_for_ci(common, "fheres", file, {case_of(file, loaded)});
  } else if (common.json) {
    fmt::print("{}", report::render(validation_json({{file, loaded}})));
  }
  return ExitCode::invalid;
}

const workload::Workload* as_workload(const documents::Model& model, const std::string& file) {
  const auto* workload = std::get_if<workload::Workload>(&model);
  if (workload != nullptr && workload->world.parameters) return workload;
  fmt::print(
      stderr,
      "fheres: {} {}; only a Workload with parameters can run, `fheres explain` answers for the rest\n", file,
      workload == nullptr ? fmt::format("is a {}", documents::kind_of(model)) : "has no parameters");
  return nullptr;
}

std::optional<workload::Workload> load_workload(const std::string& file, const PlanningOptions& planning,
                                                const CommonOptions& common) {
  const auto model = load_or_report(file, planning, common);
  if (!model) return std::nullopt;
  const workload::Workload* workload = as_workload(*model, file);
  return workload == nullptr ? std::nullopt : std::optional(*workload);
}

bool files_are_there(const workload::Workload& workload, const CommonOptions& common) {
  documents::Loaded missing;
  for (const workload::Value& value : workload.world.values) {
    if (!value.file || std::filesystem::exists(*value.file)) continue;
    missing.diagnostics.push_back(
        {"FHR0315", value.name.place,
         fmt::format("`{}` comes from {}, and there is no such file", value.client_name, *value.file),
         "`fheres client keygen` makes keys, `fheres client encrypt` inputs"});
    std::ifstream document(value.name.place.file.str(), std::ios::binary);
    missing.sources[value.name.place.file] = {std::istreambuf_iterator<char>(document), {}};
  }
  if (missing.diagnostics.empty()) return true;
  documents::sort_by_place(missing.diagnostics);
  print_diagnostics(missing, common);
  return false;
}

void print_diagnostics(const documents::Loaded& loaded, const CommonOptions& common) {
  for (const documents::Diagnostic& item : loaded.diagnostics) {
    fmt::print(stderr, "{}", documents::render(item, loaded.sources, use_color(common)));
  }
  const std::size_t count = loaded.diagnostics.size();
  fmt::print(stderr, "{} problem{}\n", count, count == 1 ? "" : "s");
}

report::Json validation_json(const std::vector<std::pair<std::string, documents::Loaded>>& files) {
  bool good = true;
  report::Json list = report::Json::array();
  for (const auto& [file, loaded] : files) {
    good = good && loaded.valid();
    list.push_back(
        {{"file", file},
         {"valid", loaded.valid()},
         {"kind", loaded.valid() ? report::Json(documents::kind_of(loaded)) : report::Json(nullptr)},
         {"diagnostics", diagnostics_json(loaded)}});
  }
  return {{"schema", "fheres/validation/v1"}, {"valid", good}, {"files", std::move(list)}};
}

std::string hash_of_file(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return sha256(std::string(std::istreambuf_iterator<char>(stream), {}));
}

const std::string& name_of(const documents::Model& model) {
  return std::visit([](const auto& item) -> const std::string& { return item.metadata.name.text; }, model);
}

const workload::Place& place_of(const documents::Model& model) {
  return std::visit([](const auto& item) -> const workload::Place& { return item.metadata.name.place; },
                    model);
}

std::vector<report::Part> parts_of(const documents::Model& model) {
  return std::visit(
      [](const auto& item) {
        std::vector<report::Part> parts;
        if constexpr (requires { item.requests; }) {
          for (const auto& request : item.requests) parts.push_back(request.name);
        } else {
          for (const auto& stage : item.stages) parts.push_back(stage.name);
        }
        return parts;
      },
      model);
}

}  // namespace fheres::cli
