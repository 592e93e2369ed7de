#pragma once

#include <filesystem>
#include <string>

#include <fheres/base/error.hpp>

namespace fheres::report {

/// Code `report/file`.
class FileError : public Error {
 public:
  explicit FileError(const std::string& message) : Error("report/file", message) {}
};

/// Writes a file whole or not at all: into a temporary file beside it, then renamed over it. FileError names the path
/// and the system's reason, and leaves what was there.
void write_file(const std::filesystem::path& path, const std::string& text);

}  // namespace fheres::report
