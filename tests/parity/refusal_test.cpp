#include <stdexcept>

#include "parity/rig.hpp"

using namespace fheres;
using namespace fheres::test;

TEST_CASE("the cuda back end refuses what the contract refuses, and streams of elsewhere") {
  Rig rig({10, 60, 40, 3, 60, 1, 1}, 1);
  TwinPoly a(rig, rig.k(), 2, 2), b(rig, rig.k(), 3, 2), c(rig, rig.k(), 2, 2);
  CHECK_THROWS_AS(rig.cuda->add(a.device, b.device, c.device, rig.stream), std::logic_error);
  CHECK_THROWS_AS(rig.cuda->forward(a.device, memory::Stream()), std::logic_error);
  CHECK(rig.cuda->name() == "cuda");
  // Roots both ways: two words each for the two primes of 60 bits, one for those of 40.
  const Bytes roots = 2 * 8 * rig.n() * (2 * 2 + 2);
  CHECK(rig.cuda->table_bytes() > roots);
  CHECK(rig.cuda->table_bytes() < roots + 8 * kKiB);
}

TEST_CASE("a cuda back end is made for a cuda device and N from 2^10 to 2^17 only") {
  const auto driver = memory::make_cuda_driver();
  const auto small = small_basis(6, 2, 1, 1);
  const auto basis = small_basis(10, 2, 1, 1);
  CHECK_THROWS_AS(ring::make_cuda_backend(small, driver, memory::Location::cuda(0)), std::invalid_argument);
  CHECK_THROWS_AS(ring::make_cuda_backend(basis, driver, memory::Location::pinned_host()),
                  std::invalid_argument);
  CHECK_THROWS_AS(ring::make_cuda_backend(basis, driver, memory::Location::cuda(driver->device_count())),
                  std::invalid_argument);
}

TEST_CASE("operations of two streams do not disturb each other") {
  Rig rig({14, 60, 40, 6, 60, 2, 2}, test_seed(3));
  const memory::Stream other = rig.driver->make_stream(rig.device, "other");
  TwinPoly a(rig, rig.k(), 6, 2), b(rig, rig.k(), 6, 2);
  a.randomized();
  b.randomized();
  for (int i = 0; i < 20; ++i) {
    rig.cpu->forward(a.host, {});
    rig.cpu->forward(b.host, {});
    rig.cuda->forward(a.device, rig.stream);
    rig.cuda->forward(b.device, other);
  }
  rig.driver->synchronize(other);
  CHECK(a.same());
  CHECK(b.same());
}
