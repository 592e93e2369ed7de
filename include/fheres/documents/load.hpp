#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fheres/documents/diagnostic.hpp>
#include <fheres/workload/machine.hpp>
#include <fheres/workload/model.hpp>
#include <fheres/workload/program.hpp>

namespace fheres::documents {

struct LoadOptions {
  /// Whether a document may name files outside its own folder (`--allow-outside`).
  bool allow_outside = false;
  /// Budgets that replace the document's (`--budget`), applied before anything is checked against them.
  std::map<workload::Location, Bytes> budgets{};
  /// Whether a document of kind Machine is wanted too: else it is a diagnostic (FHR0102).
  bool machines = false;
};

using Model = std::variant<workload::Workload, workload::Program, workload::RequestSet>;

/// A document that was read: its model, or what is wrong with it (sorted by place), never both and never neither.
struct Loaded {
  std::optional<Model> model;
  std::optional<workload::Machine> machine;  // instead of a model, where LoadOptions::machines wants one
  std::vector<Diagnostic> diagnostics;
  Sources sources;  // text of the document and of every file that it names
  bool valid() const { return model || machine; }
};

/// Reads a document of any kind, strictly, and reports every problem in one run. A file that cannot be read is a
/// diagnostic (FHR0001). Never throws for what a file contains; needs bounded memory and time (16 MiB a file, 64
/// levels of nesting, 100,000 nodes from aliases). Diagnostics name the file as `path` spells it.
Loaded load(const std::filesystem::path& path, const LoadOptions& options = {});
/// The same from a text in memory; `name` stands for the file. Files that it names are relative to `folder`.
Loaded load_text(std::string_view text, const std::string& name, const std::filesystem::path& folder,
                 const LoadOptions& options = {});

/// `Workload`, `Plan` or `Request`.
std::string_view kind_of(const Model& model);
/// The same, or `Machine`, of a valid document.
std::string_view kind_of(const Loaded& loaded);

}  // namespace fheres::documents
