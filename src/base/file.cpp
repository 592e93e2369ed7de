#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fheres/base/file.hpp>

namespace fheres {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as the kernel
constexpr int kMostNames = 100;
// Longest name of a file is 255 bytes, and the temporary one's ending has to fit.
constexpr std::size_t kMostOfName = 200;

/// Names of temporary files, for a signal handler. What finds no place here is removed by everything but that.
std::array<std::atomic<const char*>, 16> unfinished{};
static_assert(std::atomic<const char*>::is_always_lock_free,
              "a signal handler may only touch lock-free atomics");

void remember(const char* name) {
  for (auto& slot : unfinished) {
    const char* none = nullptr;
    if (slot.compare_exchange_strong(none, name)) return;
  }
}

void forget(const char* name) noexcept {
  for (auto& slot : unfinished) {
    const char* expected = name;
    if (slot.compare_exchange_strong(expected, nullptr)) return;
  }
}

/// N of a path that names this process's own descriptor: a file behind it would be replaced under whoever opened it.
std::optional<int> own_descriptor(const fs::path& path) {
  const std::string text = path.lexically_normal().string();
  for (const std::string_view folder : {"/proc/self/fd/", "/dev/fd/"}) {
    if (!text.starts_with(folder)) continue;
    int number = -1;
    const char* const end = text.data() + text.size();
    const auto [parsed, error] = std::from_chars(text.data() + folder.size(), end, number);
    if (error == std::errc{} && parsed == end && number >= 0) return number;
  }
  return std::nullopt;
}

}  // namespace

OutputFile::OutputFile(std::filesystem::path path, Access access) : path_(std::move(path)), target_(path_) {
  std::error_code ignored;
  for (int links = 0; !own_descriptor(target_) && fs::is_symlink(target_, ignored); ++links) {
    if (links == kMostLinks) fail(ELOOP);
    const fs::path next = fs::read_symlink(target_, ignored);
    target_ = next.is_absolute() ? next : target_.parent_path() / next;
  }
  const auto status = fs::status(target_, ignored);
  if (const auto own = own_descriptor(target_)) {
    file_ = ::fcntl(*own, F_DUPFD_CLOEXEC, 0);
  } else if (!fs::exists(status) || fs::is_regular_file(status)) {
    if (fs::exists(status) && ::access(target_.c_str(), W_OK) != 0) fail(errno);
    open_beside(access);
  } else {
    file_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
  }
  if (file_ < 0) fail(errno);
}

void OutputFile::open_beside(Access access) {
  if (target_.filename().empty()) fail(path_.empty() ? ENOENT : EISDIR);
  const mode_t mode = access == Access::owner ? 0600 : 0666;
  const std::string name = target_.filename().string().substr(0, kMostOfName);
  // One that a killed process left may be of a process that had the same number.
  for (int i = 0; file_ < 0 && i < kMostNames; ++i) {
    temporary_ = target_.parent_path() / fmt::format("{}.{}-{}.tmp", name, ::getpid(), i);
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, mode);
    if (file_ < 0 && errno != EEXIST) fail(errno);
  }
  if (file_ < 0) return;
  remember(temporary_.c_str());
  struct stat before {};
  const bool keep = access == Access::everyone && ::stat(target_.c_str(), &before) == 0;
  if ((keep || access == Access::owner) && ::fchmod(file_, keep ? before.st_mode & 0777 : mode) != 0) {
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
  if (::close(std::exchange(file_, -1)) != 0 ||
      (!temporary_.empty() && std::rename(temporary_.c_str(), target_.c_str()) != 0)) {
    const int error = errno;
    close_and_remove();
    fail(error);
  }
  forget(temporary_.c_str());
  temporary_.clear();
}

void OutputFile::fail(int error) const {
  throw FileError(fmt::format("cannot write {}: {}", path_.empty() ? "a file without a name" : path_.string(),
                              std::strerror(error)));
}

void OutputFile::close_and_remove() noexcept {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
  if (temporary_.empty()) return;
  ::unlink(temporary_.c_str());
  forget(temporary_.c_str());
  temporary_.clear();
}

void require_writable(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto status = fs::status(path, ignored);
  // Whoever reads a pipe would see it closed.
  if (!fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status)) OutputFile{path};
}

void remove_unfinished_files() noexcept {
  for (const auto& slot : unfinished) {
    if (const char* const name = slot.load()) ::unlink(name);
  }
}

void make_folders(const std::filesystem::path& path) {
  std::error_code error;
  if (!path.empty()) fs::create_directories(path, error);
  if (error) throw FileError(fmt::format("cannot make the folder {}: {}", path.string(), error.message()));
}

std::string read_whole(const std::filesystem::path& path, std::size_t most) {
  const auto fail = [&](const std::string& why) {
    throw FileError(fmt::format("cannot read {}: {}", path.string(), why));
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(std::strerror(errno));
  std::string text;
  std::string chunk(64 * 1024, '\0');
  ssize_t count = 0;
  while (text.size() <= most &&
         ((count = ::read(file, chunk.data(), chunk.size())) > 0 || (count < 0 && errno == EINTR))) {
    if (count > 0) text.append(chunk, 0, static_cast<std::size_t>(count));
  }
  const int error = count < 0 ? errno : 0;
  ::close(file);
  if (error != 0) fail(std::strerror(error));
  if (text.size() > most) fail(fmt::format("it has more than {} bytes", most));
  return text;
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
