#include <type_traits>
#include <unordered_set>

#include <doctest/doctest.h>

#include "residency/world.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;

namespace {
struct Apple;
struct Pear;
}  // namespace

TEST_CASE("R6: a typed handle becomes a HandleId, and never a handle of another type") {
  static_assert(std::is_convertible_v<Handle<Apple>, HandleId>);
  static_assert(!std::is_convertible_v<Handle<Apple>, Handle<Pear>>);
  static_assert(!std::is_convertible_v<HandleId, Handle<Apple>>);
  World world;
  const Handle<Apple> typed{world.put("x", 256, kPinned)};
  world.manager->ensure(typed, kDevice);
  CHECK(world.at(typed, kDevice));
  const std::unordered_set<HandleId> set{typed, typed.id};
  CHECK(set.size() == 1);
}

TEST_CASE("R6: foreign, unknown and discarded handles raise HandleError and say which") {
  World world;
  World other;
  const HandleId foreign = other.put("x", 256, kPinned);
  const auto reason = [&](HandleId value) {
    return caught<HandleError>([&] { world.manager->ensure(value, kDevice); }).reason;
  };
  CHECK(reason(foreign) == HandleError::Reason::foreign);
  CHECK(reason({world.manager->manager_id(), 0}) == HandleError::Reason::unknown);
  const HandleId value = world.put("x", 256, kPinned);
  world.manager->discard(value);
  CHECK(reason(value) == HandleError::Reason::discarded);
  CHECK(caught<HandleError>([&] { world.manager->drop(value, kPinned); }).code() == "residency/handle");
}

TEST_CASE("R6: equal contents registered twice are two values") {
  World world;
  CHECK(world.put("x", 256, kPinned, 1) != world.put("x", 256, kPinned, 1));
  CHECK(world.account(kPinned).used == 512);
}

TEST_CASE("R65: two managers of one process share nothing") {
  World one({{kDevice, 512}});
  World two({{kDevice, 512}});
  CHECK(one.manager->manager_id() != two.manager->manager_id());
  one.put("x", 512, kDevice);
  CHECK(two.account(kDevice).used == 0);
  CHECK_NOTHROW(two.put("x", 512, kDevice));
}
