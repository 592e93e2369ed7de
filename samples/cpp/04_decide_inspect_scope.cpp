// Level 4: you state the working set; a controller decides what has to go, and says why, before anything moves. Use it
// when the decision is to be logged or approved.
#include <fheres/control/controller.hpp>

#include "common.hpp"

int main() {
  using namespace sample;
  using namespace fheres::residency;
  namespace control = fheres::control;
  ManagerOptions options;
  options.budgets = {{kDevice, 8 * kMiB}};
  Manager manager(machine(), options);
  const HandleId cold = adopt(manager, "cold", 3 * kMiB, 1);
  const HandleId hot = adopt(manager, "hot", 2 * kMiB, 2);
  const HandleId weight = adopt(manager, "weight", 3 * kMiB, 3);
  manager.ensure(cold, kDevice);
  manager.ensure(hot, kDevice);

  control::Controller controller(manager, std::make_shared<control::DeterministicTieredLRU>());
  controller.set_metadata(hot, /*priority=*/10);
  const control::Request request{"tile-1", {{weight, kDevice}}, {{kDevice, 2 * kMiB, "workspace"}}};

  const control::Decision decision = controller.decide(request);
  for (const control::Eviction& eviction : decision.evictions) std::cout << eviction.reason() << "\n";
  expect(decision.evictions.size() == 1, "one value has to go");
  expect(value_of(decision.evictions[0].action) == cold, "the one with the lower priority");

  // A decision holds for the state that it saw. Whatever happens in between makes it stale, never replanned in silence.
  manager.drop(hot, kDevice);
  try {
    controller.scope(decision).enter();
    expect(false, "the state has changed");
  } catch (const StaleStateError& error) {
    std::cout << "stale: decided on version " << error.expected << ", the state is at " << error.actual
              << "\n";
  }

  Scope scope = controller.scope(controller.decide(request));
  scope.run([&](Scope&) {
    expect(manager.snapshot().at(kDevice)->account.reserved == 2 * kMiB, "headroom is held");
  });
  manager.close();
}
