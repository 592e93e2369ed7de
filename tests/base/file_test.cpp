#include <span>

#include <doctest/doctest.h>
#include <sys/stat.h>

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
