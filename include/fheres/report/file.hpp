#pragma once

#include <filesystem>
#include <string>

#include <fheres/base/file.hpp>

namespace fheres::report {

/// Writes a file whole or not at all (OutputFile). FileError names the path and the system's reason, and leaves what
/// was there.
void write_file(const std::filesystem::path& path, const std::string& text);

}  // namespace fheres::report
