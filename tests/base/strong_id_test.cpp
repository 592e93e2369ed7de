#include <type_traits>
#include <unordered_set>

#include <doctest/doctest.h>

#include <fheres/base/strong_id.hpp>

namespace {
using Apple = fheres::StrongId<struct AppleTag>;
using Pear = fheres::StrongId<struct PearTag>;
}  // namespace

TEST_CASE("ids of different kinds do not convert, and ids of one kind are ordered and hashable") {
  static_assert(!std::is_convertible_v<Apple, Pear>);
  static_assert(!std::is_constructible_v<Apple, Pear>);
  CHECK(Apple{1} < Apple{2});
  CHECK(Apple{3} == Apple{3});
  const std::unordered_set<Apple> set{Apple{1}, Apple{2}, Apple{1}};
  CHECK(set.size() == 2);
}
