#pragma once

#include <filesystem>
#include <string>

#include <fheres/documents/load.hpp>
#include <fheres/workload/machine.hpp>

namespace fheres::documents {

/// As load, for a document of kind Machine: one of another kind is a diagnostic (FHR0102). Either `machine` is there or
/// there are diagnostics.
Loaded load_machine(const std::filesystem::path& path);

/// The document, with a modeline that names the schema at `schema`. Reading it gives the same machine, but that figures
/// have four digits. Throws nothing of its own; deterministic.
std::string machine_yaml(const workload::Machine& machine, const std::string& description,
                         const std::string& schema = "../schema/machine.schema.json");

}  // namespace fheres::documents
