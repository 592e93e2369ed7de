#include "outputs.hpp"

#include <filesystem>

#include <fmt/format.h>

#include <fheres/base/file.hpp>

#include "streams.hpp"

namespace fheres::cli {
namespace {

namespace fs = std::filesystem;

/// By what is there, else by where it will be. A device or a pipe may stand twice: nothing of it is replaced.
bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  const auto status = fs::status(a, error);
  if (fs::exists(status)) return fs::is_regular_file(status) && fs::equivalent(a, b, error) && !error;
  return fs::weakly_canonical(fs::absolute(a), error) == fs::weakly_canonical(fs::absolute(b), error);
}

bool is_apart(const NamedFile& written, const NamedFile& other, const char* because) {
  if (written.path.empty() || other.path.empty() || !same_file(written.path, other.path)) return true;
  say(fmt::format("fheres: {} and {} are one file, {}: {}", written.what, other.what, written.path, because));
  return false;
}

}  // namespace

bool outputs_are_apart(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written) {
  for (std::size_t i = 0; i < written.size(); ++i) {
    for (const NamedFile& other : read)
      if (!is_apart(written[i], other, "what is read would be overwritten")) return false;
    for (std::size_t k = 0; k < i; ++k)
      if (!is_apart(written[i], written[k], "one would overwrite the other")) return false;
  }
  return true;
}

bool outputs_are_ready(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written) {
  if (!outputs_are_apart(read, written)) return false;
  for (const NamedFile& file : written)
    if (!file.path.empty()) require_writable(file.path);
  return true;
}

}  // namespace fheres::cli
