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
/// stdout in the format that was asked for. `sha256` gets the hash of the text that was read, as plans and reports name
/// documents by: the file may be another one by the time that somebody looks again.
std::optional<documents::Model> load_or_report(const std::string& file, const PlanningOptions& planning,
                                               const CommonOptions& common, std::string* sha256 = nullptr);

/// The same for a document that was read and is wrong.
ExitCode report_invalid(const std::string& file, const documents::Loaded& loaded,
                        const CommonOptions& common);

/// Problems that only show when a document that was read is used, told in the same way.
ExitCode report_problems(const std::string& file, std::vector<documents::Diagnostic> problems,
                         const CommonOptions& common);
/// A document of a kind that the command has no use for. `expected` goes on where the sentence says what it is.
ExitCode refuse_kind(const std::string& file, const documents::Model& model, const std::string& expected,
                     const CommonOptions& common);

/// The model as a Workload with parameters; nothing, and a diagnostic, where it is something else.
const workload::Workload* as_workload(const documents::Model& model, const std::string& file,
                                      const CommonOptions& common);
/// Both in one.
std::optional<workload::Workload> load_workload(const std::string& file, const PlanningOptions& planning,
                                                const CommonOptions& common, std::string* sha256 = nullptr);

/// Whether every file that a value comes from is there; tells of those that are not, at their values' lines.
bool files_are_there(const workload::Workload& workload, const std::string& file,
                     const CommonOptions& common);

/// All diagnostics on stderr, and a line that counts them.
void print_diagnostics(const documents::Loaded& loaded, const CommonOptions& common);
/// `fheres/validation/v1` of documents that were read.
report::Json validation_json(const std::vector<std::pair<std::string, documents::Loaded>>& files);

/// Of the document's own text among what was read with it.
std::string hash_of(const documents::Loaded& loaded, const std::string& file);

/// A Machine document for a command that needs a good one; else nothing, as load_or_report does it. A name that is empty is
/// of no document: then `machine` stays as it is.
bool load_machine_or_report(const std::string& file, const CommonOptions& common,
                            std::optional<workload::Machine>& machine);

/// `metadata.name` of any model.
const std::string& name_of(const documents::Model& model);
/// Where that stands, for what is about the whole document.
const workload::Place& place_of(const documents::Model& model);
/// Its stages or requests.
std::vector<report::Part> parts_of(const documents::Model& model);

}  // namespace fheres::cli
