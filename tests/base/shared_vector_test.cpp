#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <fheres/base/bit_set.hpp>
#include <fheres/base/shared_text.hpp>
#include <fheres/base/shared_vector.hpp>

using namespace fheres;

TEST_CASE("copies of a shared vector are as independent as those of any other") {
  const std::uint64_t seed = 3;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  std::vector<SharedVector<std::string, 4>> shared(3);
  std::vector<std::vector<std::string>> plain(3);
  for (int round = 0; round < 5000; ++round) {
    const std::size_t which = random() % 3;
    const std::string text = std::to_string(random());
    switch (random() % 8) {
      case 0: {
        const std::size_t from = random() % 3;
        shared[which] = shared[from];
        plain[which] = plain[from];
        break;
      }
      case 1:
      case 2:
        shared[which].push_back(text);
        plain[which].push_back(text);
        break;
      default:
        if (plain[which].empty()) break;
        const std::size_t i = random() % plain[which].size();
        shared[which].edit(i) = text;
        plain[which][i] = text;
    }
    REQUIRE(shared[which].size() == plain[which].size());
    if (plain[which].size() > 60) {
      shared[which] = {};
      plain[which].clear();
    }
  }
  for (std::size_t which = 0; which < 3; ++which)
    CHECK(std::vector<std::string>(shared[which].begin(), shared[which].end()) == plain[which]);
}

TEST_CASE("threads may change their copies of one shared vector at the same time") {
  SharedVector<std::uint64_t, 4> original;
  for (std::uint64_t i = 0; i < 64; ++i) original.push_back(i);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 1; t <= 4; ++t) {
    threads.emplace_back([copy = original, t]() mutable {
      for (std::uint64_t round = 0; round < 200; ++round) {
        SharedVector<std::uint64_t, 4> mine = copy;
        for (std::size_t i = 0; i < mine.size(); i += 3) mine.edit(i) += t;
        copy = mine;
      }
      for (std::uint64_t i = 0; i < 64; ++i) CHECK(copy[i] == i + (i % 3 == 0 ? 200 * t : 0));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::uint64_t i = 0; i < 64; ++i) CHECK(original[i] == i);
}

TEST_CASE("a bit set gives its numbers in ascending order") {
  BitSet set;
  set.set(1000, false);
  CHECK_FALSE(set.has(1000));
  for (const std::size_t i : {200u, 0u, 63u, 64u, 65u, 199u}) set.set(i, true);
  set.set(199, false);
  std::vector<std::size_t> found;
  set.for_each([&](std::size_t i) { found.push_back(i); });
  CHECK(found == std::vector<std::size_t>{0, 63, 64, 65, 200});
  CHECK(set.has(64));
  CHECK_FALSE(set.has(199));
}

TEST_CASE("shared texts compare as the texts do") {
  const SharedText a("a"), also("a"), b(std::string("b")), none;
  CHECK(a == also);
  CHECK(a < b);
  CHECK(none.empty());
  CHECK(none.str().empty());
  CHECK(none < a);
  CHECK(SharedText("") == none);
}
