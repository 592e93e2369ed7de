#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include <fheres/documents/load.hpp>
#include <fheres/workload/check.hpp>

#include "sections.hpp"

namespace fheres::documents {
namespace {

constexpr const char* kApiVersion = "fheres/v1";
constexpr const char* kUnknownName = "FHR0301";
// Nobody reads more, and a hostile file could ask for millions.
constexpr std::size_t kMaxDiagnostics = 1000;

/// The kind that the document says it is, for choosing its reader.
std::string kind_in(const Node& root) {
  for (const Node::Entry& entry : root.entries) {
    if (entry.key == "kind" && entry.value->kind == Node::Kind::scalar) return entry.value->text;
  }
  return {};
}

template <class Checked>
void move_problems(Context& context, Checked& checked) {
  for (workload::Problem& problem : checked.problems) {
    // A name of an item that could not be made is not unknown.
    if (context.expansion_failed && problem.code == kUnknownName) continue;
    context.diagnostics.push_back(std::move(problem));
  }
}

std::optional<Model> read_model(Context& context, const Node& root,
                                std::optional<workload::Machine>& machine) {
  MapReader document(context, root, "the document");
  if (!document.valid()) return std::nullopt;
  const std::string kind = kind_in(root);
  if (kind == "Workload") {
    auto checked = workload::check(read_workload(context, document));
    move_problems(context, checked);
    if (checked.workload) return Model(std::move(*checked.workload));
  } else if (kind == "Plan") {
    auto checked = workload::check(read_plan(context, document));
    move_problems(context, checked);
    if (checked.program) return Model(std::move(*checked.program));
  } else if (kind == "Request") {
    auto checked = workload::check(read_requests(context, document));
    move_problems(context, checked);
    if (checked.requests) return Model(std::move(*checked.requests));
  } else if (kind == "Machine" && context.options.machines) {
    machine = read_machine_document(context, document);
  } else {
    read_header(context, document);
    if (kind == "Machine")
      context.report("FHR0102", document.get("kind")->place,
                     "kind is `Machine`, expected Workload, Plan or Request",
                     "other documents and commands name one with `machine`");
  }
  return std::nullopt;
}

workload::World& world_of(Model& model) {
  return std::visit([](auto& m) -> workload::World& { return m.world; }, model);
}

}  // namespace

std::variant<std::string, std::string> read_file(const std::filesystem::path& path, const Limits& limits) {
  using Result = std::variant<std::string, std::string>;
  const auto failed = [](const std::string& why) { return Result(std::in_place_index<1>, why); };
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return failed("there is no such file");
  if (std::filesystem::is_directory(status)) return failed("it is a folder");
  std::ifstream file(path, std::ios::binary);
  if (!file) return failed(std::strerror(errno));
  std::string text;
  std::string chunk(64 * 1024, '\0');
  while (text.size() <= limits.bytes &&
         (file.read(chunk.data(), static_cast<std::streamsize>(chunk.size())), file.gcount() > 0)) {
    text.append(chunk, 0, static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) return failed("it cannot be read");
  return Result(std::in_place_index<0>, std::move(text));
}

workload::Metadata read_header(Context& context, MapReader& document) {
  workload::Metadata metadata;
  if (const Node* version = document.need("apiVersion")) {
    const auto text = read_text(context, *version, "apiVersion");
    if (text && *text != kApiVersion) {
      context.report("FHR0101", version->place,
                     fmt::format("apiVersion is `{}`, expected `{}`", *text, kApiVersion));
    }
  }
  if (const Node* kind = document.need("kind")) {
    const std::vector<std::string> kinds{"Workload", "Plan", "Request", "Machine"};
    if (const auto text = read_text(context, *kind, "kind");
        text && std::find(kinds.begin(), kinds.end(), *text) == kinds.end()) {
      const std::string near = workload::closest(*text, kinds);
      context.report("FHR0102", kind->place,
                     fmt::format("kind is `{}`, expected Workload, Plan, Request or Machine", *text),
                     near.empty() ? "" : fmt::format("did you mean `{}`?", near));
    }
  }
  const Node* node = document.need("metadata");
  if (!node) return metadata;
  MapReader map(context, *node, "metadata");
  if (const Node* name = map.need("name")) {
    if (const auto read = read_name(context, *name, "metadata.name")) metadata.name = *read;
  }
  if (const Node* text = map.get("description")) {
    metadata.description = read_text(context, *text, "description").value_or("");
  }
  map.finish();
  return metadata;
}

std::shared_ptr<const Node> read_other(Context& context, const Node& path_node, const char* kind,
                                       std::filesystem::path& folder) {
  const auto path = read_path(context, path_node);
  if (!path) return nullptr;
  std::error_code error;
  const auto status = std::filesystem::status(*path, error);
  // What is no file, such as a pipe, could keep us waiting.
  if (std::filesystem::exists(status) && !std::filesystem::is_directory(status) &&
      !std::filesystem::is_regular_file(status)) {
    context.report("FHR0001", path_node.place, fmt::format("`{}`: it is no regular file", path->string()));
    return nullptr;
  }
  auto text = read_file(*path, Limits{});
  if (text.index() == 1) {
    context.report("FHR0001", path_node.place, fmt::format("`{}`: {}", path->string(), std::get<1>(text)));
    return nullptr;
  }
  const std::string name = path->lexically_normal().string();
  std::string& source = context.sources[name];
  source = std::move(std::get<0>(text));
  auto root = parse(source, name, Limits{}, context.diagnostics);
  if (root && kind_in(*root) != kind) {
    context.report("FHR0102", path_node.place,
                   fmt::format("`{}` is no document of kind {}", path_node.text, kind));
    return nullptr;
  }
  folder = path->parent_path();
  return root;
}

Loaded load_text(std::string_view text, const std::string& name, const std::filesystem::path& folder,
                 const LoadOptions& options) {
  Context context;
  context.folder = folder;
  context.options = options;
  Loaded loaded;
  if (const auto root = parse(text, name, Limits{}, context.diagnostics)) {
    loaded.model = read_model(context, *root, loaded.machine);
  }
  loaded.sources = std::move(context.sources);
  loaded.sources[name] = text;
  loaded.diagnostics = std::move(context.diagnostics);
  if (!loaded.diagnostics.empty()) {
    loaded.model.reset();
    const bool counted_all = loaded.diagnostics.size() < kMostDiagnostics;
    loaded.machine.reset();
    sort_by_place(loaded.diagnostics);
    name_instances(loaded.diagnostics);
    if (loaded.diagnostics.size() > kMaxDiagnostics) {
      const std::size_t more = loaded.diagnostics.size() - kMaxDiagnostics;
      loaded.diagnostics.resize(kMaxDiagnostics);
      loaded.diagnostics.push_back(
          {"FHR0007",
           {name, 0, 0, 0},
           fmt::format("and {}{} more problems", counted_all ? "" : "at least ", more),
           {}});
    }
  } else if (loaded.model) {
    for (const auto& [at, budget] : options.budgets) world_of(*loaded.model).set_budget(at, budget);
  }
  return loaded;
}

Loaded load(const std::filesystem::path& path, const LoadOptions& options) {
  auto text = read_file(path, Limits{});
  if (text.index() == 1) {
    Loaded loaded;
    loaded.diagnostics.push_back({"FHR0001", {path.string(), 0, 0, 0}, std::get<1>(text), {}});
    return loaded;
  }
  return load_text(std::get<0>(text), path.string(), path.parent_path(), options);
}

std::string_view kind_of(const Model& model) {
  constexpr std::string_view kinds[] = {"Workload", "Plan", "Request"};
  return kinds[model.index()];
}

std::string_view kind_of(const Loaded& loaded) {
  return loaded.machine ? std::string_view("Machine") : kind_of(*loaded.model);
}

}  // namespace fheres::documents
