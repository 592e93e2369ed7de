#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include <fheres/base/error.hpp>

namespace fheres {

/// A file cannot be read, written, or is not what it should be. The message names the path. Code `base/file`.
class FileError : public Error {
 public:
  explicit FileError(const std::string& message) : Error("base/file", message) {}
};

/// A file that is written whole or not at all: into a temporary file beside it, which finish() renames over it. What
/// is not finished leaves what was there, and no temporary file. A device or a pipe cannot be replaced by a rename and
/// is written as it is. Not thread safe. FileError names the path and the system's reason.
class OutputFile {
 public:
  enum class Access { everyone, owner };  // owner: mode 0600, whatever the umask says

  explicit OutputFile(std::filesystem::path path, Access access = Access::everyone);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void finish();

 private:
  [[noreturn]] void fail(int error) const;
  void close_and_remove() noexcept;

  std::filesystem::path path_;
  std::filesystem::path target_;  // what is written; path_ itself where nothing is renamed
  int file_ = -1;
};

/// The whole of a regular file, mapped for reading: pages come in when they are touched. Whoever shortens the file
/// meanwhile ends the process, as for every mapping. Move-only.
class MappedFile {
 public:
  /// FileError where the file is not there, is no regular file, or cannot be mapped.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace fheres
