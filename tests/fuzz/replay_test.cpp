#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>

#include "fuzz/document.hpp"

namespace {

namespace fs = std::filesystem;

/// Whatever a document or a damaged one may be, by path, so that runs are alike.
std::vector<fs::path> corpus() {
  std::vector<fs::path> files;
  for (const char* folder : {"samples", "plans", "tests/fuzz/corpus"})
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.is_regular_file()) files.push_back(entry.path());
  for (const auto& entry : fs::recursive_directory_iterator("tests/golden"))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Of the processor: what a user would call a hang, under a sanitizer.
constexpr double kSeconds = 20;

void check(const std::string& text, const fs::path& origin) {
  CAPTURE(origin.string());
  CAPTURE(text.size() < 4000 ? text : std::string());
  const std::clock_t start = std::clock();
  CHECK(fheres::test::check_document(text, "tests/fuzz/corpus") == "");
  CHECK(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC < kSeconds);
}

/// Words that mean something to the loader, so that damage gets past the parser.
constexpr const char* kWords[] = {"${t}",
                                  "${t*64+1}",
                                  "for: {t: 0..3}",
                                  "{t: 0..999999}",
                                  "&a ",
                                  "*a ",
                                  "bytes: 1 MiB",
                                  "cuda:0",
                                  "message: {file: x.npy}",
                                  "- ",
                                  "\n",
                                  "  ",
                                  "{",
                                  "}",
                                  "[",
                                  "]",
                                  ": ",
                                  "null",
                                  "-1",
                                  "9223372036854775807",
                                  "!!map ",
                                  "\"",
                                  "'",
                                  "# ",
                                  "---\n",
                                  "\t",
                                  "\xff"};

}  // namespace

TEST_CASE("every file of the corpus gets an answer") {
  const auto files = corpus();
  CHECK(files.size() > 60);
  for (const fs::path& file : files) check(read(file), file);
}

TEST_CASE("seeded damage to the files of the corpus gets an answer") {
  const std::uint64_t seed = 4;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const auto files = corpus();
  std::vector<std::string> texts;
  for (const fs::path& file : files) texts.push_back(read(file));
  for (int round = 0; round < 1500; ++round) {
    const std::size_t which = random() % files.size();
    std::string text = texts[which];
    if (text.size() > 20000) continue;
    for (std::uint64_t edits = 1 + random() % 5; edits-- > 0 && !text.empty();) {
      const std::size_t at = random() % text.size();
      switch (random() % 5) {
        case 0:
          text.insert(at, kWords[random() % std::size(kWords)]);
          break;
        case 1:
          text.erase(at, 1 + random() % 30);
          break;
        case 2:
          text[at] = static_cast<char>(random());
          break;
        case 3:
          text.insert(at, text.substr(random() % text.size(), random() % 80));
          break;
        default: {
          const std::string& other = texts[random() % texts.size()];
          if (!other.empty()) text.insert(at, other.substr(random() % other.size(), random() % 200));
        }
      }
    }
    check(text, files[which]);
  }
}
