#include "document.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include <fheres/base/sha256.hpp>

namespace fheres::cli {

std::optional<documents::Model> load_or_report(const std::string& file, const PlanningOptions& planning,
                                               const CommonOptions& common) {
  documents::Loaded loaded = documents::load(file, {planning.allow_outside, budgets_of(planning)});
  if (!loaded.model) print_diagnostics(loaded, common);
  return std::move(loaded.model);
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

std::string hash_of_file(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return sha256(std::string(std::istreambuf_iterator<char>(stream), {}));
}

const std::string& name_of(const documents::Model& model) {
  return std::visit([](const auto& item) -> const std::string& { return item.metadata.name.text; }, model);
}

}  // namespace fheres::cli
