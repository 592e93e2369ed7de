#include <doctest/doctest.h>

#include <fheres/workload/model.hpp>
#include <fheres/workload/program.hpp>

using namespace fheres;
using namespace fheres::workload;

TEST_CASE("a budget that is set stays in location order and replaces the one that was there") {
  World world;
  world.locations = {{Location::pinned_host(), 5, {}}, {Location::cuda(1), {}, {}}};
  CHECK(world.budgets() == std::map<Location, Bytes>{{Location::pinned_host(), 5}});
  world.set_budget(Location::cuda(0), 7);
  world.set_budget(Location::pinned_host(), 0);
  world.set_budget(Location::cuda(1), 9);
  REQUIRE(world.locations.size() == 3);
  CHECK(world.locations[1].at == Location::cuda(0));
  CHECK(world.budgets() == std::map<Location, Bytes>{
                               {Location::pinned_host(), 0}, {Location::cuda(0), 7}, {Location::cuda(1), 9}});
}

TEST_CASE("a named action becomes the same action on a handle") {
  const residency::HandleId handle{{3}, 4};
  const Location device = Location::cuda(0);
  NamedAction action{NamedAction::Verb::ensure, 0, device, Location::pinned_host(), {}};
  CHECK(bind(action, handle) ==
        residency::Action(residency::Ensure{handle, device, Location::pinned_host()}));
  action.verb = NamedAction::Verb::move;
  CHECK(bind(action, handle) == residency::Action(residency::Move{handle, device, Location::pinned_host()}));
  action.verb = NamedAction::Verb::drop;
  CHECK(bind(action, handle) == residency::Action(residency::Drop{handle, device}));
}

TEST_CASE("a program's stage becomes a plan with its name, actions and reservations in order") {
  ProgramStage stage;
  stage.name.text = "tile-0";
  const Location device = Location::cuda(0);
  stage.reclaim = {{NamedAction::Verb::drop, 1, device, {}, {}}};
  stage.enter = {{NamedAction::Verb::ensure, 0, device, {}, {}}};
  stage.prefetch = {{NamedAction::Verb::ensure, 1, device, Location::pinned_host(), {}}};
  stage.exit = {{NamedAction::Verb::drop, 0, device, {}, {}}};
  stage.reserve = {{{device, 6 * kMiB, "workspace"}, {}}};
  const std::vector<residency::HandleId> handles{{{1}, 0}, {{1}, 1}};
  const residency::Plan plan = plan_of(stage, handles);
  CHECK(plan.name == "tile-0");
  CHECK(plan.reclaim == std::vector<residency::Action>{residency::Drop{handles[1], device}});
  CHECK(plan.enter == std::vector<residency::Action>{residency::Ensure{handles[0], device, {}}});
  CHECK(plan.prefetch ==
        std::vector<residency::Action>{residency::Ensure{handles[1], device, Location::pinned_host(), true}});
  CHECK(plan.exit == std::vector<residency::Action>{residency::Drop{handles[0], device}});
  CHECK(plan.reservations == std::vector<residency::ReservationSpec>{{device, 6 * kMiB, "workspace"}});
}
