#include <doctest/doctest.h>

#include <fheres/report/file.hpp>

#include "support/folder.hpp"

using fheres::test::Folder;
namespace fs = std::filesystem;

TEST_CASE("a file is written whole and replaces what was there") {
  const Folder folder;
  fheres::report::write_file(folder.path / "report.json", "first");
  fheres::report::write_file(folder.path / "report.json", "second");
  CHECK(folder.read("report.json") == "second");
  CHECK(folder.count() == 1);
}

TEST_CASE("a file that cannot be written leaves what was there and names its path") {
  const Folder folder;
  fs::create_directory(folder.path / "taken");
  fheres::report::write_file(folder.path / "taken" / "inside", "kept");
  const fs::path missing = folder.path / "missing" / "report.json";
  CHECK_THROWS_WITH_AS(fheres::report::write_file(missing, "text"), doctest::Contains("missing/report.json"),
                       fheres::FileError);
  CHECK_THROWS_AS(fheres::report::write_file(folder.path / "taken", "text"), fheres::FileError);
  CHECK(fs::exists(folder.path / "taken" / "inside"));
}
