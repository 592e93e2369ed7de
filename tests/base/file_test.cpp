#include <span>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fheres/base/file.hpp>

#include "support/folder.hpp"

using namespace fheres;
using fheres::test::Folder;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("a file that is not finished leaves what was there, and nothing else") {
  const Folder folder;
  folder.write("value", "before");
  {
    OutputFile file(folder.path / "value");
    file.write(bytes_of("after"));
    CHECK(folder.count() == 2);
  }
  CHECK(folder.read("value") == "before");
  CHECK(folder.count() == 1);
  OutputFile file(folder.path / "value");
  file.write(bytes_of("af"));
  file.write(bytes_of("ter"));
  file.finish();
  CHECK(folder.read("value") == "after");
  CHECK(folder.count() == 1);
}

TEST_CASE("a file for its owner alone has mode 0600, also over one that had another") {
  const Folder folder;
  folder.write("secret", "public");
  std::filesystem::permissions(folder.path / "secret", std::filesystem::perms::all);
  OutputFile file(folder.path / "secret", OutputFile::Access::owner);
  file.write(bytes_of("secret"));
  file.finish();
  struct stat status {};
  REQUIRE(::stat((folder.path / "secret").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
}

TEST_CASE("a mapped file shows its bytes, an empty one none, and what is no file is refused by name") {
  const Folder folder;
  MappedFile file(folder.write("some", "bytes"));
  CHECK(text_of(file.bytes()) == "bytes");
  MappedFile moved(std::move(file));
  CHECK(text_of(moved.bytes()) == "bytes");
  CHECK(MappedFile(folder.write("none", "")).bytes().empty());
  CHECK_THROWS_WITH_AS(MappedFile(folder.path / "missing"), doctest::Contains("missing"), FileError);
  CHECK_THROWS_WITH_AS(MappedFile(folder.path), doctest::Contains("no regular file"), FileError);
}

TEST_CASE("a link stays, and what it leads to is replaced or made") {
  const Folder folder;
  std::filesystem::create_directory(folder.path / "there");
  std::filesystem::create_symlink("there/value", folder.path / "link");
  std::filesystem::create_symlink("link", folder.path / "second");
  for (const char* text : {"before", "after"}) {
    OutputFile file(folder.path / "second");
    file.write(bytes_of(text));
    file.finish();
    CHECK(folder.read("there/value") == text);
    CHECK(std::filesystem::is_symlink(folder.path / "link"));
    CHECK(std::filesystem::is_symlink(folder.path / "second"));
  }
  std::filesystem::create_symlink("round", folder.path / "round");
  CHECK_THROWS_WITH_AS(OutputFile(folder.path / "round"), doctest::Contains("round"), FileError);
}

TEST_CASE("a file that is there keeps its mode, and one that may not be written is not replaced") {
  const Folder folder;
  folder.write("value", "before");
  std::filesystem::permissions(folder.path / "value", std::filesystem::perms(0640));
  OutputFile file(folder.path / "value");
  file.write(bytes_of("after"));
  file.finish();
  struct stat status {};
  REQUIRE(::stat((folder.path / "value").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0640);
  std::filesystem::permissions(folder.path / "value", std::filesystem::perms(0440));
  if (::geteuid() != 0) CHECK_THROWS_AS(OutputFile(folder.path / "value"), FileError);
}

TEST_CASE("what names a descriptor of the process is written through it, whatever file is behind") {
  const Folder folder;
  const int descriptor = ::open((folder.path / "value").c_str(), O_WRONLY | O_CREAT, 0600);
  REQUIRE(descriptor >= 0);
  std::filesystem::create_symlink(fmt::format("/proc/self/fd/{}", descriptor), folder.path / "link");
  for (const std::string& name : {fmt::format("/dev/fd/{}", descriptor), (folder.path / "link").string()}) {
    OutputFile file(name);
    file.write(bytes_of("x"));
    file.finish();
  }
  ::close(descriptor);
  CHECK(folder.read("value") == "xx");
  CHECK(std::filesystem::is_symlink(folder.path / "link"));
}

TEST_CASE("a temporary file that a killed process left is in nobody's way") {
  const Folder folder;
  folder.write(fmt::format("value.{}-0.tmp", ::getpid()), "left");
  OutputFile file(folder.path / "value");
  file.finish();
  CHECK(folder.count() == 2);
  const std::string longest(255, 'n');
  OutputFile(folder.path / longest).finish();
  CHECK(folder.read(longest).empty());
}

TEST_CASE("a signal handler can remove what is not finished") {
  const Folder folder;
  OutputFile finished(folder.path / "finished");
  finished.finish();
  OutputFile file(folder.path / "value");
  CHECK(folder.count() == 2);
  remove_unfinished_files();
  CHECK(folder.count() == 1);
  CHECK(std::filesystem::exists(folder.path / "finished"));
}

TEST_CASE("whether a file can be written is known before, and leaves nothing") {
  const Folder folder;
  folder.write("there", "text");
  require_writable(folder.path / "new");
  require_writable(folder.path / "there");
  require_writable("/dev/null");
  CHECK(folder.count() == 1);
  CHECK(folder.read("there") == "text");
  CHECK_THROWS_AS(require_writable(folder.path / "no" / "file"), FileError);
  CHECK_THROWS_AS(require_writable(folder.path), FileError);
  CHECK_THROWS_WITH_AS(require_writable(""), doctest::Contains("without a name"), FileError);
  make_folders(folder.path / "a" / "b");
  make_folders("");
  require_writable(folder.path / "a" / "b" / "file");
  CHECK_THROWS_WITH_AS(make_folders(folder.path / "there" / "a"), doctest::Contains("there/a"), FileError);
}

TEST_CASE("reading a whole file ends at a limit, also where the file has no end") {
  const Folder folder;
  CHECK(read_whole(folder.write("some", "bytes"), 5) == "bytes");
  CHECK_THROWS_WITH_AS(read_whole(folder.path / "some", 4), doctest::Contains("more than 4 bytes"),
                       FileError);
  CHECK_THROWS_AS(read_whole("/dev/zero", 1000), FileError);
  CHECK_THROWS_AS(read_whole(folder.path, 1000), FileError);
  CHECK_THROWS_AS(read_whole(folder.path / "none", 1000), FileError);
}
