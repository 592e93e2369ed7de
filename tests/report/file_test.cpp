#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include <fheres/report/file.hpp>

namespace {

namespace fs = std::filesystem;

struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "fheres-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  std::string read(const char* name) const {
    std::ifstream file(path / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  fs::path path;
};

}  // namespace

TEST_CASE("a file is written whole and replaces what was there") {
  const Folder folder;
  fheres::report::write_file(folder.path / "report.json", "first");
  fheres::report::write_file(folder.path / "report.json", "second");
  CHECK(folder.read("report.json") == "second");
  CHECK(std::distance(fs::directory_iterator(folder.path), {}) == 1);
}

TEST_CASE("a file that cannot be written leaves what was there and names its path") {
  const Folder folder;
  fs::create_directory(folder.path / "taken");
  fheres::report::write_file(folder.path / "taken" / "inside", "kept");
  const fs::path missing = folder.path / "missing" / "report.json";
  CHECK_THROWS_WITH_AS(fheres::report::write_file(missing, "text"), doctest::Contains("missing/report.json"),
                       fheres::report::FileError);
  CHECK_THROWS_AS(fheres::report::write_file(folder.path / "taken", "text"), fheres::report::FileError);
  CHECK(fs::exists(folder.path / "taken" / "inside"));
}
