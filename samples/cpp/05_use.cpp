// Level 5: decide, enter and lease in one step. Use it when the policy and a complete request are review enough.
#include <fheres/control/controller.hpp>

#include "common.hpp"

int main() {
  using namespace sample;
  using namespace fheres::residency;
  namespace control = fheres::control;
  const auto driver = machine();
  ManagerOptions options;
  options.budgets = {{kDevice, 8 * kMiB}};
  Manager manager(driver, options);
  const HandleId input = adopt(manager, "input", 2 * kMiB, 7);
  const HandleId weight = adopt(manager, "weight", 3 * kMiB, 8);

  control::Controller controller(manager, std::make_shared<control::DeterministicTieredLRU>());
  const auto stream = driver->make_stream(kDevice, "compute");
  const control::Request request{
      "tile-0", {{input, kDevice}, {weight, kDevice}}, {{kDevice, 2 * kMiB, "workspace"}}};
  {
    control::Use use = controller.use(request, {{kDevice, stream}});
    const BlockView view = use.value(input, kDevice);
    expect(view.bytes == 2 * kMiB && view.at == kDevice, "the input can be read on the device");
    // Kernels that read the values go on `stream`; closing waits for nothing, the values stay protected until it passed.
    use.close();
  }
  driver->synchronize(stream);
  expect(manager.snapshot().at(kDevice)->account.used == 5 * kMiB,
         "endpoints stay cached for the next request");
  std::cout << "used 2 values at " << kDevice.name() << ", still cached there\n";
  manager.close();
}
