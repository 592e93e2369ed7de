#include <doctest/doctest.h>

#include <fheres/memory/bandwidth.hpp>

using namespace fheres::memory;

TEST_CASE(
    "R14: pinned memory is known to be faster than pageable memory, both ways, and host to host is not "
    "known") {
  const Location pageable = Location::pageable_host(), pinned = Location::pinned_host(),
                 device = Location::cuda(3);
  CHECK(known_bandwidth(pinned, device) > known_bandwidth(pageable, device));
  CHECK(known_bandwidth(device, pinned) > known_bandwidth(device, pageable));
  CHECK(known_bandwidth(pinned, device) > known_bandwidth(Location::cuda(0), device));
  CHECK(known_bandwidth(Location::cuda(0), device) > known_bandwidth(pageable, device));
  CHECK_FALSE(known_bandwidth(pageable, pinned));
  CHECK_FALSE(known_bandwidth(pinned, pageable));
}
