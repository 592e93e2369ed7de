#include <doctest/doctest.h>

#include <fheres/memory/cuda.hpp>
#include <fheres/memory/emulated.hpp>

#include "support/decision_history.hpp"

using namespace fheres;
using fheres::test::DecisionHistory;

TEST_CASE("R60 decisions on a CUDA device are those of the emulated one, byte for byte") {
  INFO(memory::cuda_status());
  REQUIRE(memory::cuda_device_count() > 0);
  memory::CudaOptions options;
  options.devices = {0};
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    const std::string emulated = DecisionHistory(memory::make_emulated_driver(), seed).run(80);
    CHECK(DecisionHistory(memory::make_cuda_driver(options), seed).run(80) == emulated);
  }
}
