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
/// is not finished leaves what was there, and no temporary file. A file that is there keeps its mode, and has to be one
/// that may be written; a link stays, and what it leads to is replaced. A device or a pipe cannot be replaced by a
/// rename and is written as it is; so is what /dev/stdout and /dev/fd/N name. Not thread safe. FileError names the path
/// and the system's reason.
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

  void open_beside(Access access);

  std::filesystem::path path_;       // as it was given, for messages
  std::filesystem::path target_;     // what path_ leads to
  std::filesystem::path temporary_;  // beside it; empty where nothing is renamed
  int file_ = -1;
};

/// FileError, as OutputFile would throw it, where a file cannot be written there. For before long work: nothing stays.
void require_writable(const std::filesystem::path& path);

/// Removes the temporary files of what is not finished, and nothing else: safe in a signal handler, before _exit.
void remove_unfinished_files() noexcept;

/// The folder and those above it, where they are not there. FileError.
void make_folders(const std::filesystem::path& path);

/// The whole of what can be read there: a file, a pipe. FileError where it cannot be read, or has more than `most` bytes.
std::string read_whole(const std::filesystem::path& path, std::size_t most);

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
