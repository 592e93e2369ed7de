// Level 2: a manager owns the values; you choose every transition. It keeps the budget, the replica rules, and the
// protection of what is in use. Use it when every placement is known at the call.
#include "common.hpp"

int main() {
  using namespace sample;
  using namespace fheres::residency;
  const auto driver = machine();
  ManagerOptions options;
  options.budgets = {{kDevice, 4 * kMiB}};
  Manager manager(driver, options);

  const HandleId key = adopt(manager, "key", 3 * kMiB, 1);
  const HandleId weight = adopt(manager, "weight", 2 * kMiB, 2);
  manager.ensure(key, kDevice);  // a replica: the host keeps its copy

  try {
    manager.ensure(weight, kDevice);
    expect(false, "3 + 2 MiB do not fit in 4");
  } catch (const BudgetError& error) {
    std::cout << "refused: " << error.what() << "\n";
    expect(error.used == 3 * kMiB && error.requested == 2 * kMiB, "the numbers are fields of the error");
  }

  const auto stream = driver->make_stream(kDevice, "compute");
  Lease lease = manager.acquire({key}, kDevice, stream);
  // Kernels that read lease.view(key).data would be queued on `stream` here.
  try {
    manager.drop(key, kDevice);
    expect(false, "what is leased cannot be dropped");
  } catch (const InUseError& error) {
    expect(error.counts.use == 1, "one lease protects it");
  }
  lease.release(/*wait=*/true);

  manager.drop(key, kDevice);
  manager.ensure(weight, kDevice);
  expect(manager.snapshot().at(kDevice)->account.used == 2 * kMiB, "only the weight is there now");
  manager.close();
}
