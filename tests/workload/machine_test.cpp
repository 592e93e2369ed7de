#include <doctest/doctest.h>

#include <fheres/workload/body_times.hpp>
#include <fheres/workload/machine.hpp>

using namespace fheres;
using namespace fheres::workload;

TEST_CASE("a copy's time is linear between measured sizes, and goes on at the last bandwidth") {
  // 10 us for 100,000 bytes, 20 us for 300,000: 5 us of latency, then 20 bytes a nanosecond.
  const CopyTimes times{Tier::pinned_host, Tier::cuda, {{100'000, 10'000}, {300'000, 20'000}}};
  CHECK(times.ns(0) == doctest::Approx(5'000));
  CHECK(times.ns(100'000) == doctest::Approx(10'000));
  CHECK(times.ns(200'000) == doctest::Approx(15'000));
  CHECK(times.ns(3'000'000) == doctest::Approx(200'000));
  CHECK(times.bandwidth() == doctest::Approx(15e9));
  // Points that would start below nothing.
  CHECK(CopyTimes{Tier::pinned_host, Tier::cuda, {{10, 1}, {20, 100}}}.ns(1) == 0);
  CHECK(CopyTimes{Tier::pinned_host, Tier::cuda, {{1000, 10}}}.ns(500) == doctest::Approx(5));
}

TEST_CASE("an operation's time is linear between levels, and the nearest one's outside of them") {
  const OperationTimes times{"set", "rotate", {{2, 100}, {6, 60}}};
  CHECK(times.ns(0) == 100);
  CHECK(times.ns(3) == doctest::Approx(90));
  CHECK(times.ns(9) == 60);
}

TEST_CASE("R64: a copy between devices that are no peers takes both of its legs") {
  Machine machine;
  machine.copies = {{Tier::cuda, Tier::pinned_host, {{1000, 10}}},
                    {Tier::pinned_host, Tier::cuda, {{1000, 30}}},
                    {Tier::cuda, Tier::cuda, {{1000, 5}}}};
  const Location a = Location::cuda(0), b = Location::cuda(1);
  CHECK(machine.copy_ns(a, b, 1000) == 40);
  machine.peers = {{a, b}};
  CHECK(machine.copy_ns(b, a, 1000) == 5);
  CHECK(!machine.copy_ns(Location::pageable_host(), a, 1000));
}

TEST_CASE("the default machine knows every direction between the host and a device") {
  const Machine machine = default_machine();
  for (const Location host : {Location::pageable_host(), Location::pinned_host()}) {
    CHECK(machine.copy_ns(host, Location::cuda(0), kGiB).has_value());
    CHECK(machine.copy_ns(Location::cuda(0), host, kGiB).has_value());
  }
  CHECK(*machine.copy_ns(Location::pinned_host(), Location::cuda(0), kGiB) <
        *machine.copy_ns(Location::pageable_host(), Location::cuda(0), kGiB));
}

TEST_CASE("a multiply that relinearizes is another operation than one that does not") {
  CHECK(timed_name(scheme::Operation::multiply, true) == "multiply+key");
  CHECK(timed_name(scheme::Operation::multiply, false) == "multiply");
  CHECK(timed_name(scheme::Operation::rotate, true) == "rotate");
}
