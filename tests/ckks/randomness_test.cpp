#include <map>
#include <set>

#include <doctest/doctest.h>

#include "ckks/ckks_support.hpp"
#include "ckks/sampling.hpp"

using namespace fheres;
using namespace fheres::test;

namespace {

ckks::Seed seed_of(std::string_view name) {
  return ckks::Randomness::from_document(7).seed({.purpose = "test", .name = name, .parameters = ""});
}

}  // namespace

TEST_CASE("document seeds are a function of every part of the label; the system's are always new") {
  const ckks::Randomness document = ckks::Randomness::from_document(7);
  CHECK(document.reproducible());
  const std::array<std::byte, 1> detail{std::byte{1}};
  const std::vector<ckks::Label> labels{{"a", "b", 0, "p", {}},     {"ab", "", 0, "p", {}},
                                        {"a", "b", 1, "p", {}},     {"a", "b", 0, "q", {}},
                                        {"a", "b", 0, "p", detail}, {"b", "b", 0, "p", {}}};
  std::set<std::array<unsigned char, 32>> seen;
  for (const ckks::Label& label : labels) {
    CHECK(document.seed(label).bytes == ckks::Randomness::from_document(7).seed(label).bytes);
    seen.insert(document.seed(label).bytes);
    seen.insert(ckks::Randomness::from_document(8).seed(label).bytes);
  }
  CHECK(seen.size() == 2 * labels.size());
  const ckks::Randomness system = ckks::Randomness::from_system();
  CHECK_FALSE(system.reproducible());
  CHECK(system.seed(labels[0]).bytes != system.seed(labels[0]).bytes);
}

TEST_CASE("secrets are ternary and even, errors have the deviation of the binomial") {
  std::vector<std::int64_t> small(1 << 16);
  ckks::sample_ternary(seed_of("s"), small);
  std::map<std::int64_t, int> counts;
  for (std::int64_t value : small) ++counts[value];
  CHECK(counts.size() == 3);
  for (int value : {-1, 0, 1}) CHECK(std::abs(counts[value] - 65536 / 3) < 700);  // five deviations of 120

  ckks::sample_error(seed_of("e"), small);
  double sum = 0, squares = 0;
  for (std::int64_t value : small) {
    CHECK(std::abs(value) <= 21);
    sum += static_cast<double>(value);
    squares += static_cast<double>(value * value);
  }
  CHECK(std::abs(sum / 65536) < 0.07);
  CHECK(std::abs(squares / 65536 - 10.5) < 0.3);
}

TEST_CASE("flooding noise is even over its whole range, and no more") {
  std::vector<std::int64_t> draws(1 << 16);
  for (const int bits : {0, 1, 20, 62}) {
    CAPTURE(bits);
    ckks::sample_even(seed_of("f"), bits, draws);
    const double half = std::exp2(bits);
    double sum = 0, squares = 0;
    for (std::int64_t value : draws) {
      CHECK((static_cast<double>(value) >= -half && static_cast<double>(value) < half));
      const double x = (static_cast<double>(value) + 0.5) / half;
      sum += x;
      squares += x * x;
    }
    CHECK(std::abs(sum / 65536) < 0.015);
    // Of an even distribution over (-1, 1), and of its two or four points.
    const double expected = bits == 0 ? 0.25 : bits == 1 ? 0.3125 : 1.0 / 3;
    CHECK(std::abs(squares / 65536 - expected) < 0.01);
  }
}

TEST_CASE("secret memory starts at zero and moves") {
  ckks::SecretWords words(100);
  CHECK(std::ranges::all_of(std::span(words.data(), 100), [](std::uint64_t x) { return x == 0; }));
  words.data()[99] = 5;
  ckks::SecretWords moved(std::move(words));
  CHECK(moved.data()[99] == 5);
  CHECK(moved.size() == 100);
}
