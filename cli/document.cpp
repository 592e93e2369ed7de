#include "document.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include <fheres/base/sha256.hpp>
#include <fheres/documents/machine_file.hpp>
#include <fheres/report/table.hpp>

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
                                               const CommonOptions& common, std::string* sha256) {
  documents::Loaded loaded = documents::load(file, {planning.allow_outside, budgets_of(planning)});
  if (!loaded.model) {
    report_invalid(file, loaded, common);
    return std::nullopt;
  }
  if (sha256 != nullptr) *sha256 = hash_of(loaded, file);
  return std::move(loaded.model);
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

ExitCode report_problems(const std::string& file, std::vector<documents::Diagnostic> problems,
                         const CommonOptions& common) {
  documents::Loaded loaded;
  loaded.diagnostics = std::move(problems);
  documents::sort_by_place(loaded.diagnostics);
  for (const documents::Diagnostic& item : loaded.diagnostics) {
    const std::string& name = item.place.file.str();
    // A pipe has been read, and has no second time.
    if (loaded.sources.contains(name) || !std::filesystem::is_regular_file(name)) continue;
    std::ifstream document(name, std::ios::binary);
    loaded.sources[name] = {std::istreambuf_iterator<char>(document), {}};
  }
  return report_invalid(file, loaded, common);
}

ExitCode refuse_kind(const std::string& file, const documents::Model& model, const std::string& expected,
                     const CommonOptions& common) {
  return report_problems(
      file,
      {{"FHR0102", place_of(model),
        fmt::format("{} `{}` {}", documents::kind_of(model), name_of(model), expected), ""}},
      common);
}

const workload::Workload* as_workload(const documents::Model& model, const std::string& file,
                                      const CommonOptions& common) {
  const auto* workload = std::get_if<workload::Workload>(&model);
  if (workload == nullptr) {
    refuse_kind(file, model, "cannot run, expected a Workload with parameters", common);
    return nullptr;
  }
  if (workload->world.parameters) return workload;
  report_problems(file,
                  {{"FHR0105", place_of(model),
                    fmt::format("Workload `{}` has no `parameters`, and cannot run without", name_of(model)),
                    "`fheres explain` answers for it"}},
                  common);
  return nullptr;
}

std::optional<workload::Workload> load_workload(const std::string& file, const PlanningOptions& planning,
                                                const CommonOptions& common, std::string* sha256) {
  const auto model = load_or_report(file, planning, common, sha256);
  if (!model) return std::nullopt;
  const workload::Workload* workload = as_workload(*model, file, common);
  return workload == nullptr ? std::nullopt : std::optional(*workload);
}

bool files_are_there(const workload::Workload& workload, const std::string& file,
                     const CommonOptions& common) {
  std::vector<documents::Diagnostic> missing;
  for (const workload::Value& value : workload.world.values) {
    if (!value.file || std::filesystem::exists(*value.file)) continue;
    missing.push_back(
        {"FHR0315", value.name.place,
         fmt::format("`{}` comes from {}, and there is no such file", value.client_name, *value.file),
         "`fheres client keygen` makes keys, `fheres client encrypt` inputs"});
  }
  if (missing.empty()) return true;
  report_problems(file, std::move(missing), common);
  return false;
}

bool load_machine_or_report(const std::string& file, const CommonOptions& common,
                            std::optional<workload::Machine>& machine) {
  if (file.empty()) return true;
  documents::Loaded loaded = documents::load_machine(file);
  if (loaded.machine)
    machine = std::move(loaded.machine);
  else
    report_invalid(file, loaded, common);
  return loaded.diagnostics.empty();
}

void print_diagnostics(const documents::Loaded& loaded, const CommonOptions& common) {
  for (const documents::Diagnostic& item : loaded.diagnostics) {
    fmt::print(stderr, "{}", documents::render(item, loaded.sources, use_color(common)));
  }
  fmt::print(stderr, "{}\n", report::format_count(loaded.diagnostics.size(), "problem"));
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

std::string hash_of(const documents::Loaded& loaded, const std::string& file) {
  return sha256(loaded.sources.at(file));
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
