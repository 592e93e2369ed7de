// Level 3: a plan around one body. You write down reclaim, headroom, entry and exit; the manager says beforehand whether
// it works, and runs it in that order. Use it for a stage that is repeated and reviewed.
#include "common.hpp"

int main() {
  using namespace sample;
  using namespace fheres::residency;
  ManagerOptions options;
  options.budgets = {{kDevice, 8 * kMiB}};
  Manager manager(machine(), options);
  const HandleId old = adopt(manager, "previous weight", 3 * kMiB, 1);
  const HandleId weight = adopt(manager, "weight", 3 * kMiB, 2);
  const HandleId result = manager.announce(spec("result", kMiB));  // the body will make it
  manager.ensure(old, kDevice);

  Plan plan;
  plan.name = "tile-1";
  plan.reclaim = {Drop{old, kDevice}};
  plan.reservations = {{kDevice, kMiB, "outputs"}, {kDevice, 4 * kMiB, "workspace"}};
  plan.enter = {Ensure{weight, kDevice, {}}};
  plan.produce = {{result, kDevice, 0}};
  plan.exit = {Move{result, kPinned, kDevice}, Drop{weight, kDevice}};

  const Explanation explanation = manager.explain(plan);  // changes nothing
  expect(explanation.feasible, explanation.reason);
  expect(explanation.at(kDevice)->peak_charged == 8 * kMiB, "the plan fills the budget exactly");

  Scope scope = manager.scope(plan);
  scope.run([&](Scope& open) {
    Allocation output = open.reservation("outputs").allocate(kMiB);
    // The body computes into output.data() with workspace carved out of open.reservation("workspace").
    manager.adopt(std::move(output), kDevice, result);
  });
  for (const ActionReport& action : scope.report().actions) {
    std::cout << name(action.phase) << ": " << verb_of(action.transition.action) << ", "
              << action.transition.bytes << " bytes\n";
  }
  const auto after = manager.snapshot();
  expect(after.at(kDevice)->account.used == 0, "nothing stays on the device");
  expect(after.at(kPinned)->account.used == kMiB, "the result left for pinned memory");
  manager.close();
}
