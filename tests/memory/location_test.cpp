#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <fheres/memory/location.hpp>

using fheres::memory::Location;

TEST_CASE("R1 a location is known by its name, and every location's name names it") {
  CHECK(Location::pageable_host().name() == "pageable-host");
  CHECK(Location::pinned_host().name() == "pinned-host");
  CHECK(Location::cuda(0).name() == "cuda:0");
  CHECK(Location::parse("pageable-host") == Location::pageable_host());
  CHECK(Location::parse("pinned-host") == Location::pinned_host());
  for (int device = 0; device < Location::kMaxDevices; ++device) {
    const Location at = Location::cuda(device);
    CHECK(Location::from_name(at.name()) == at);
    CHECK(at.device() == device);
    CHECK(at.is_cuda());
    CHECK_FALSE(at.is_host());
    CHECK(at.index() == static_cast<std::size_t>(device) + 2);
  }
}

TEST_CASE("R1 cuda without an index, with leading zeros, signs or an index above 127 names no location") {
  for (const char* name :
       {"cuda",    "cuda:",    "cuda:00",  "cuda:01",        "cuda:-1",
        "cuda:+1", "cuda:128", "cuda:999", "cuda:1000",      "cuda:0 ",
        " cuda:0", "cuda:0x1", "cuda:1a",  "CUDA:0",         "cuda0",
        "host",    "",         "pinned",   "pageable-host ", "cuda:99999999999999999999"}) {
    CAPTURE(name);
    CHECK_FALSE(Location::from_name(name).has_value());
    CHECK_THROWS_AS(Location::parse(name), std::invalid_argument);
  }
  CHECK_THROWS_WITH_AS(Location::parse("cuda:128"),
                       "expected pageable-host, pinned-host or cuda:0 to cuda:127, got `cuda:128`",
                       std::invalid_argument);
  CHECK_THROWS_AS(Location::cuda(-1), std::invalid_argument);
  CHECK_THROWS_AS(Location::cuda(128), std::invalid_argument);
}

TEST_CASE("R1 locations are ordered pageable, pinned, then cuda by index") {
  const std::vector<Location> ordered{Location::pageable_host(), Location::pinned_host(),
                                      Location::cuda(0),         Location::cuda(2),
                                      Location::cuda(10),        Location::cuda(127)};
  for (std::size_t i = 0; i + 1 < ordered.size(); ++i) {
    CHECK(ordered[i] < ordered[i + 1]);
    CHECK(ordered[i].index() < ordered[i + 1].index());
  }
  CHECK(ordered.back().index() + 1 == Location::kCount);
}
