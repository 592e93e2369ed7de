#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <fheres/workload/model.hpp>

namespace fheres::cli {

/// The keys that a client makes for a workload, in the form that it makes them, in the document's order.
std::vector<workload::ValueIndex> keys_of(const workload::World& world);
/// The ciphertexts that a client encrypts.
std::vector<workload::ValueIndex> inputs_of(const workload::World& world);

/// `rot1.safetensors`; characters that could mean anything to a file system are written as %2F and so on.
std::string file_name(const std::string& value);
/// Where a declared value is stored: where the document says, else under its name in the folder.
std::filesystem::path path_of(const workload::Value& value, const std::filesystem::path& folder);

}  // namespace fheres::cli
