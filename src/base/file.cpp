#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fheres/base/file.hpp>

namespace fheres {

OutputFile::OutputFile(std::filesystem::path path, Access access) : path_(std::move(path)) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path_, ignored);
  const bool replace = !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
  target_ = replace ? std::filesystem::path(fmt::format("{}.{}.tmp", path_.string(), ::getpid())) : path_;
  const mode_t mode = access == Access::owner ? 0600 : 0666;
  file_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC | (replace ? O_CREAT | O_EXCL : 0), mode);
  if (file_ < 0) fail(errno);
  if (replace && access == Access::owner && ::fchmod(file_, mode) != 0) {
    const int error = errno;
    close_and_remove();
    fail(error);
  }
}

OutputFile::~OutputFile() { close_and_remove(); }

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void OutputFile::finish() {
  // A pipe cannot be synchronized, and needs not be.
  if (::fsync(file_) != 0 && errno != EINVAL) fail(errno);
  if (::close(std::exchange(file_, -1)) != 0) {
    const int error = errno;
    if (target_ != path_) ::unlink(target_.c_str());
    fail(error);
  }
  if (target_ == path_) return;
  if (std::rename(target_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    ::unlink(target_.c_str());
    fail(error);
  }
}

void OutputFile::fail(int error) const {
  throw FileError(fmt::format("cannot write {}: {}", path_.string(), std::strerror(error)));
}

void OutputFile::close_and_remove() noexcept {
  if (file_ < 0) return;
  ::close(std::exchange(file_, -1));
  if (target_ != path_) ::unlink(target_.c_str());
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  const auto fail = [&](const std::string& why) {
    throw FileError(fmt::format("cannot read {}: {}", path.string(), why));
  };
  // A pipe must not keep the process waiting for a writer.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) fail(std::strerror(errno));
  struct stat status {};
  const int error = ::fstat(file, &status) == 0 ? 0 : errno;
  void* data = nullptr;
  int map_error = 0;
  if (error == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    size_ = static_cast<std::size_t>(status.st_size);
    data = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED) map_error = errno;
  }
  ::close(file);
  if (error != 0) fail(std::strerror(error));
  if (!S_ISREG(status.st_mode)) fail("it is no regular file");
  if (map_error != 0) fail(std::strerror(map_error));
  data_ = static_cast<const std::byte*>(data);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace fheres
