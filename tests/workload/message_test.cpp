#include <cmath>
#include <set>
#include <stdexcept>

#include <doctest/doctest.h>

#include <fheres/workload/message.hpp>

using namespace fheres::workload;

TEST_CASE("each message gives the slots that its formula says") {
  CHECK(slots_of(ConstantMessage{0.5}, 3) == std::vector<double>{0.5, 0.5, 0.5});
  CHECK(slots_of(RampMessage{-1, 1}, 5) == std::vector<double>{-1, -0.5, 0, 0.5, 1});
  CHECK(slots_of(ListMessage{{1, 2}}, 4) == std::vector<double>{1, 2, 0, 0});
  const auto sine = slots_of(SineMessage{2, 0.5, 0.25}, 4);
  for (int i = 0; i < 4; ++i)
    CHECK(sine[static_cast<std::size_t>(i)] == doctest::Approx(2 * std::sin(0.5 * i + 0.25)));
}

TEST_CASE("a list and random numbers repeat with their period") {
  CHECK(slots_of(ListMessage{{1, 2}, 3}, 7) == std::vector<double>{1, 2, 0, 1, 2, 0, 1});
  const auto slots = slots_of(RandomMessage{7, -1, 1, 4}, 10);
  const auto once = slots_of(RandomMessage{7, -1, 1}, 4);
  for (std::size_t i = 0; i < slots.size(); ++i) CHECK(slots[i] == once[i % 4]);
  CHECK(describe(RandomMessage{7, -1, 1, 4}) == "random(seed 7, low -1, high 1, period 4)");
  CHECK(describe(ListMessage{{1, 2}, 3}) == "list(2 numbers, period 3)");
}

TEST_CASE("random slots stay in their range, differ, and are the same for the same seed") {
  const RandomMessage message{7, -3, 5};
  const auto slots = slots_of(message, 4096);
  CHECK(slots == slots_of(message, 4096));
  CHECK(slots != slots_of(RandomMessage{8, -3, 5}, 4096));
  double sum = 0;
  for (const double slot : slots) {
    REQUIRE(slot >= -3);
    REQUIRE(slot < 5);
    sum += slot;
  }
  CHECK(std::set<double>(slots.begin(), slots.end()).size() == slots.size());
  CHECK(sum / 4096 == doctest::Approx(1).epsilon(0.2));
}

TEST_CASE("no slot is larger than the magnitude says") {
  const Message messages[] = {ConstantMessage{-2}, SineMessage{-3, 0.7, 1}, RampMessage{-4, 1},
                              ListMessage{{1, -6}}, RandomMessage{1, -0.5, 0.25}};
  const double bounds[] = {2, 3, 4, 6, 0.5};
  for (std::size_t i = 0; i < std::size(messages); ++i) {
    CHECK(magnitude(messages[i]) == bounds[i]);
    for (const double slot : slots_of(messages[i], 512)) CHECK(std::abs(slot) <= bounds[i]);
  }
}

TEST_CASE("a list longer than the slots is refused") {
  CHECK_THROWS_AS(slots_of(ListMessage{{1, 2, 3}}, 2), std::invalid_argument);
}
