// What deciding costs, without a device: one line a case, median and minimum of repeated calls on the same state.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include <fheres/base/check.hpp>
#include <fheres/control/search.hpp>

namespace {

using namespace fheres;
using namespace fheres::control;

const Location device = Location::cuda(0);
const Location host = Location::pageable_host();

struct Timing {
  double median;
  double minimum;
};

Timing microseconds(int repetitions, const std::function<void()>& call) {
  std::vector<double> times;
  for (int i = 0; i < repetitions + 5; ++i) {  // the first five warm up
    const auto start = std::chrono::steady_clock::now();
    call();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    if (i >= 5) times.push_back(took.count());
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front()};
}

residency::ValueSpec spec(const char* kind, int number, Bytes bytes) {
  residency::ValueSpec made;
  made.name = std::string(kind).append(std::to_string(number));
  made.type = "bytes";
  made.logical_bytes = made.storage_bytes = bytes;
  return made;
}

HandleId adopt(residency::State& state, const char* kind, int number, Bytes bytes) {
  const auto adopted = state.adopt(spec(kind, number, bytes), host, bytes);
  FHERES_CHECK(std::holds_alternative<HandleId>(adopted));
  return std::get<HandleId>(adopted);
}

void report(const std::string& name, const Timing& timing, const std::string& remark) {
  std::printf("%-52s %10.1f %10.1f   %s\n", name.c_str(), timing.median, timing.minimum, remark.c_str());
}

// `residents` fill the device, `wanted` others are required there, with a workspace: as many have to leave.
void decide_full_device(int residents, int wanted, bool equal_sizes, int repetitions) {
  const auto size = [&](int i) { return kMiB * (equal_sizes ? 4 : 1 + static_cast<Bytes>(i * 7919 % 13)); };
  Bytes budget = 0;
  for (int i = 0; i < residents; ++i) budget += size(i);
  residency::State state(residency::ManagerId{1}, {{device, budget}});
  for (int i = 0; i < residents; ++i) {
    const HandleId value = adopt(state, "resident", i, size(i));
    FHERES_CHECK(
        std::holds_alternative<residency::Transition>(state.apply(residency::Ensure{value, device, {}})));
  }
  Request request{"full", {}, {{device, 8 * kMiB, "workspace"}}};
  for (int i = 0; i < wanted; ++i)
    request.require.push_back({adopt(state, "wanted", i, size(i + 5)), device});
  const DeterministicTieredLRU policy(DeterministicTieredLRU::Tiers{{device, {host}}});
  const ValueMetadata metadata;
  std::size_t evictions = 0;
  const Timing timing = microseconds(repetitions, [&] {
    const Outcome outcome = decide(state, request, policy, metadata);
    evictions = std::get<Decision>(outcome).evictions.size();
  });
  report("decide, " + std::to_string(residents) + " residents, " + std::to_string(wanted) + " wanted, " +
             (equal_sizes ? "equal" : "mixed") + " sizes",
         timing, std::to_string(evictions) + " evictions");
}

// `residents` fill the device, half of the `wanted` are among them.
void decide_half_resident(int residents, int wanted, int repetitions) {
  residency::State state(residency::ManagerId{1}, {{device, static_cast<Bytes>(residents) * 4 * kMiB}});
  Request request{"half", {}, {}};
  for (int i = 0; i < residents; ++i) {
    const HandleId value = adopt(state, "resident", i, 4 * kMiB);
    FHERES_CHECK(
        std::holds_alternative<residency::Transition>(state.apply(residency::Ensure{value, device, {}})));
    if (i % 2 == 0 && i < wanted) request.require.push_back({value, device});
  }
  for (int i = wanted / 2; i < wanted; ++i) {
    request.require.push_back({adopt(state, "wanted", i, 4 * kMiB), device});
  }
  const DeterministicTieredLRU policy;
  const ValueMetadata metadata;
  const Timing timing = microseconds(repetitions, [&] {
    FHERES_CHECK(std::holds_alternative<Decision>(decide(state, request, policy, metadata)));
  });
  report("decide, " + std::to_string(residents) + " residents, " + std::to_string(wanted) +
             " wanted, half there",
         timing, "");
}

void oversized_reservation() {
  residency::State state(residency::ManagerId{1}, {{device, 64 * kMiB}});
  Request request{"oversized", {}, {{device, 65 * kMiB, "workspace"}}};
  for (int i = 0; i < 16; ++i) {
    const HandleId value = adopt(state, "resident", i, 4 * kMiB);
    FHERES_CHECK(
        std::holds_alternative<residency::Transition>(state.apply(residency::Ensure{value, device, {}})));
    if (i == 0) request.require.push_back({value, device});
  }
  const DeterministicTieredLRU policy;
  const ValueMetadata metadata;
  std::string reason;
  const Timing timing = microseconds(
      1001, [&] { reason = std::get<Infeasible>(decide(state, request, policy, metadata)).reason; });
  report("infeasible, oversized reservation, 16 residents", timing, "");
  std::printf("  %s\n", reason.c_str());
}

}  // namespace

int main() {
  std::printf("%-52s %10s %10s   (us)\n", "", "median", "minimum");
  for (const bool equal : {true, false}) {
    decide_full_device(50, 12, equal, 1001);
    decide_full_device(200, 50, equal, 1001);
    decide_full_device(800, 200, equal, 301);
    decide_full_device(5000, 1250, equal, 51);
  }
  decide_half_resident(200, 50, 1001);
  decide_half_resident(800, 200, 301);
  oversized_reservation();
}
