#include <doctest/doctest.h>

#include <fheres/residency/errors.hpp>

#include "world.hpp"

using namespace fheres;
using namespace fheres::control;
using namespace fheres::control::testing;

TEST_CASE("R52 a request needs a name, a requirement, unique pairs and labels") {
  World world({{cuda0, 10 * kMiB}});
  const HandleId a = world.put("a", kMiB, {pageable});
  CHECK_THROWS_AS(world.decide({"", {{a, cuda0}}, {}}), std::invalid_argument);
  CHECK_THROWS_AS(world.decide({"r", {}, {}}), std::invalid_argument);
  CHECK_THROWS_AS(world.decide({"r", {{a, cuda0}, {a, cuda0}}, {}}), std::invalid_argument);
  CHECK_THROWS_AS(world.decide({"r", {{a, cuda0}}, {{cuda0, kMiB, ""}}}), std::invalid_argument);
  CHECK_NOTHROW(world.decision({"r", {{a, cuda0}, {a, pinned}}, {{cuda0, 0, "nothing"}}}));
}

TEST_CASE("R52 an exclusive value is not required at two locations") {
  World world({{cuda0, 10 * kMiB}});
  const HandleId x = world.put_exclusive("x", kMiB, pageable);
  CHECK_THROWS_AS(world.decide({"r", {{x, cuda0}, {x, pinned}}, {}}), residency::OwnershipError);
}

TEST_CASE("R6 R52 foreign, unknown and discarded handles are refused, each as what it is") {
  World world({{cuda0, 10 * kMiB}});
  const HandleId gone = world.put("gone", kMiB, {pageable});
  world.apply(residency::Discard{gone});
  const auto reason = [&](HandleId value) {
    try {
      world.decide({"r", {{value, cuda0}}, {}});
    } catch (const residency::HandleError& error) {
      return error.reason;
    }
    FAIL("expected a HandleError");
    return residency::HandleError::Reason::ill_typed;
  };
  CHECK(reason(gone) == residency::HandleError::Reason::discarded);
  CHECK(reason({world.state.manager(), 99}) == residency::HandleError::Reason::unknown);
  CHECK(reason({residency::ManagerId{8}, 0}) == residency::HandleError::Reason::foreign);
}

TEST_CASE("R55 stable keys are unique, not empty, and come back when a value is forgotten") {
  ValueMetadata metadata;
  const residency::ManagerId manager{1};
  metadata.set({manager, 0}, 3, "key");
  CHECK_THROWS_AS(metadata.set({manager, 1}, 0, "key"), std::invalid_argument);
  CHECK_THROWS_AS(metadata.set({manager, 1}, 0, ""), std::invalid_argument);
  CHECK_NOTHROW(metadata.set({manager, 0}, 4, "key"));
  CHECK(metadata.of({manager, 0}).priority == 4);
  metadata.forget({manager, 0});
  CHECK_NOTHROW(metadata.set({manager, 1}, 0, "key"));
  CHECK(metadata.of({manager, 0}) == Metadata{});
}

TEST_CASE("R55 touching gives one new epoch to all that were used together") {
  ValueMetadata metadata;
  const HandleId a{{}, 0}, b{{}, 5}, c{{}, 2};
  metadata.touch(std::vector{a, b});
  metadata.touch(std::vector{c});
  CHECK(metadata.of(a).access_epoch == metadata.of(b).access_epoch);
  CHECK(metadata.of(c).access_epoch > metadata.of(a).access_epoch);
  CHECK(metadata.of({{}, 1}).access_epoch == 0);
}
