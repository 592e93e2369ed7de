#include <doctest/doctest.h>

#include <fheres/workload/check.hpp>

using fheres::workload::closest;

TEST_CASE("the closest name is one that a finger could have meant") {
  const std::vector<std::string> names{"weight", "image", "rot1", "rot2", "budget"};
  CHECK(closest("wieght", names) == "weight");
  CHECK(closest("budgte", names) == "budget");
  CHECK(closest("imag", names) == "image");
  CHECK(closest("rot3", names) == "rot1");
  CHECK(closest("x", names).empty());
  CHECK(closest("something", names).empty());
  CHECK(closest("", names).empty());
  CHECK(closest(std::string(100000, 'a'), names).empty());
}
