// Level 1: no manager at all. You own both blocks, their streams and their lifetimes; fheres only moves bytes.
// Use it when nothing needs an identity, a budget or protection.
#include "common.hpp"

int main() {
  using namespace sample;
  const auto driver = machine();
  const auto host = fheres::memory::Region::make(driver, kPageable, std::nullopt);
  const auto device = fheres::memory::Region::make(driver, kDevice, 8 * kMiB);

  fheres::memory::Block source = host->allocate(2 * kMiB);
  fheres::memory::Block moved = device->allocate(2 * kMiB);
  fheres::memory::Block back = host->allocate(2 * kMiB);
  std::memset(source.data(), 42, source.bytes());

  const fheres::memory::Stream stream = driver->make_stream(kDevice, "copies");
  driver->copy(stream, moved.extent(), source.extent());
  driver->copy(stream, back.extent(), moved.extent());
  driver->synchronize(
      stream);  // until here all three blocks had to stay alive: that is the caller's business

  expect(std::memcmp(source.data(), back.data(), source.bytes()) == 0, "the bytes came back");
  expect(device->allocated() == 2 * kMiB, "the device holds exactly what was allocated");
  std::cout << "moved 2 MiB there and back on " << driver->describe(kDevice) << "\n";
}
