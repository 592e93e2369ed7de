#pragma once

#include <optional>
#include <string>

#include <fheres/documents/load.hpp>
#include <fheres/report/finding.hpp>
#include <fheres/report/json.hpp>

#include "exit_code.hpp"
#include "options.hpp"

namespace fheres::cli {

/// Reads a document for a command that needs a good one. Else nothing comes back, and diagnostics went to stderr, and to
/// stdout in the format that was asked for.
std::optional<documents::Model> load_or_report(const std::string& file, const PlanningOptions& planning,
                                               const CommonOptions& common);

/// The same for a document that was read and is wrong.
ExitCode report_invalid(const std::string& file, const documents::Loaded& loaded,
                        const CommonOptions& common);

/// The model as a Workload with parameters; nothing, and a message on stderr, where it is something else.
const workload::Workload* as_workload(const documents::Model& model, const std::string& file);
/// Both in one.
std::optional<workload::Workload> load_workload(const std::string& file, const PlanningOptions& planning,
                                                const CommonOptions& common);

/// Whether every file that a value comes from is there; prints those that are not, at their values' lines.
bool files_are_there(const workload::Workload& workload, const CommonOptions& common);

/// All diagnostics on stderr, and a line that counts them.
void print_diagnostics(const documents::Loaded& loaded, const CommonOptions& common);
/// `fheres/validation/v1` of documents that were read.
report::Json validation_json(const std::vector<std::pair<std::string, documents::Loaded>>& files);

/// Of a file's bytes, as plans and reports name documents by.
std::string hash_of_file(const std::string& file);

/// `metadata.name` of any model.
const std::string& name_of(const documents::Model& model);
/// Where that stands, for what is about the whole document.
const workload::Place& place_of(const documents::Model& model);
/// Its stages or requests.
std::vector<report::Part> parts_of(const documents::Model& model);

}  // namespace fheres::cli
