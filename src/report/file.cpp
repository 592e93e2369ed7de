#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <fheres/report/file.hpp>

namespace fheres::report {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  throw FileError(fmt::format("cannot write {}: {}", path.string(), std::strerror(error)));
}

/// 0, or the error that stopped it.
int write_all(int file, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    done += static_cast<std::size_t>(written);
  }
  return ::fsync(file) == 0 || errno == EINVAL ? 0 : errno;
}

}  // namespace

void write_file(const std::filesystem::path& path, const std::string& text) {
  // A device or a pipe cannot be replaced by a rename; it is written as it is.
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  const bool replace = !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
  const std::filesystem::path target =
      replace ? std::filesystem::path(fmt::format("{}.{}.tmp", path.string(), ::getpid())) : path;
  const int file = ::open(target.c_str(), O_WRONLY | O_CLOEXEC | (replace ? O_CREAT | O_EXCL : 0), 0666);
  if (file < 0) fail(path, errno);
  int error = write_all(file, text);
  if (::close(file) != 0 && error == 0) error = errno;
  if (error == 0 && replace && std::rename(target.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  if (replace) ::unlink(target.c_str());
  fail(path, error);
}

}  // namespace fheres::report
