// What deciding costs: control::decide on one state, without a manager.
#include <string>
#include <variant>

#include <fheres/base/check.hpp>
#include <fheres/control/search.hpp>

#include "control_plane.hpp"

namespace fheres::bench {
namespace {

using namespace fheres::control;
using residency::State;

const Location device = Location::cuda(0);
const Location host = Location::pageable_host();

HandleId adopt(State& state, const char* kind, int number, Bytes bytes) {
  residency::ValueSpec spec;
  spec.name = std::string(kind).append(std::to_string(number));
  spec.type = "bytes";
  spec.logical_bytes = spec.storage_bytes = bytes;
  const auto adopted = state.adopt(spec, host, bytes);
  FHERES_CHECK(std::holds_alternative<HandleId>(adopted));
  return std::get<HandleId>(adopted);
}

HandleId adopt_resident(State& state, int number, Bytes bytes) {
  const HandleId value = adopt(state, "resident", number, bytes);
  const auto placed = state.apply(residency::Ensure{value, device, {}});
  FHERES_CHECK(std::holds_alternative<residency::Transition>(placed));
  return value;
}

Row row(std::string family, int residents, std::string name, const HostTimes& times, double goal,
        std::string remark) {
  return {std::move(name),  std::move(family), static_cast<std::size_t>(residents), times, goal,
          std::move(remark)};
}

int repetitions_for(int residents) { return residents > 1000 ? 51 : residents > 400 ? 301 : 1001; }

// `residents` fill the device, a quarter as many others are required there, with a workspace: as many have to leave.
Row full_device(int residents, bool equal_sizes, double goal) {
  const int wanted = residents / 4;
  const auto size = [&](int i) { return kMiB * (equal_sizes ? 4 : 1 + static_cast<Bytes>(i * 7919 % 13)); };
  Bytes budget = 0;
  for (int i = 0; i < residents; ++i) budget += size(i);
  State state(residency::ManagerId{1}, {{device, budget}});
  for (int i = 0; i < residents; ++i) adopt_resident(state, i, size(i));
  Request request{"full", {}, {{device, 8 * kMiB, "workspace"}}};
  for (int i = 0; i < wanted; ++i)
    request.require.push_back({adopt(state, "wanted", i, size(i + 5)), device});
  const DeterministicTieredLRU policy(DeterministicTieredLRU::Tiers{{device, {host}}});
  const ValueMetadata metadata;
  std::size_t evictions = 0;
  const HostTimes times = time_calls(repetitions_for(residents), 1, [&] {
    evictions = std::get<Decision>(decide(state, request, policy, metadata)).evictions.size();
  });
  const std::string sizes = equal_sizes ? "equal" : "mixed";
  return row("decide, full device, " + sizes, residents,
             "decide, " + std::to_string(residents) + " residents, " + std::to_string(wanted) + " wanted, " +
                 sizes + " sizes",
             times, goal, std::to_string(evictions) + " evictions");
}

// The device has no room left, and half of what is wanted is among its residents.
Row half_there(int residents) {
  const int wanted = residents / 4;
  State state(residency::ManagerId{1}, {{device, static_cast<Bytes>(residents) * 4 * kMiB}});
  Request request{"half", {}, {}};
  for (int i = 0; i < residents; ++i) {
    const HandleId value = adopt_resident(state, i, 4 * kMiB);
    if (i < wanted / 2) request.require.push_back({value, device});
  }
  for (int i = wanted / 2; i < wanted; ++i)
    request.require.push_back({adopt(state, "wanted", i, 4 * kMiB), device});
  const DeterministicTieredLRU policy;
  const ValueMetadata metadata;
  std::size_t evictions = 0;
  const HostTimes times = time_calls(repetitions_for(residents), 1, [&] {
    evictions = std::get<Decision>(decide(state, request, policy, metadata)).evictions.size();
  });
  return row("decide, half there", residents,
             "decide, " + std::to_string(residents) + " residents, " + std::to_string(wanted) +
                 " wanted, half there",
             times, 0, std::to_string(evictions) + " evictions");
}

Row oversized_reservation(int residents, double goal) {
  const Bytes budget = static_cast<Bytes>(residents) * 4 * kMiB;
  State state(residency::ManagerId{1}, {{device, budget}});
  Request request{"oversized", {}, {{device, budget + kMiB, "workspace"}}};
  for (int i = 0; i < residents; ++i) {
    const HandleId value = adopt_resident(state, i, 4 * kMiB);
    if (i == 0) request.require.push_back({value, device});
  }
  const DeterministicTieredLRU policy;
  const ValueMetadata metadata;
  const HostTimes times = time_calls(repetitions_for(residents), 8, [&] {
    FHERES_CHECK(std::get<Infeasible>(decide(state, request, policy, metadata)).conflict.size() == 1);
  });
  return row("infeasible, oversized reservation", residents,
             "infeasible, oversized reservation, " + std::to_string(residents) + " residents", times, goal,
             "with the reason");
}

Row everything_held(int residents) {
  State state(residency::ManagerId{1}, {{device, static_cast<Bytes>(residents) * 4 * kMiB}});
  for (int i = 0; i < residents; ++i)
    state.protect(adopt_resident(state, i, 4 * kMiB), device, State::Token::hold);
  const Request request{"held", {{adopt(state, "wanted", 0, 4 * kMiB), device}}, {}};
  const DeterministicTieredLRU policy;
  const ValueMetadata metadata;
  std::size_t holders = 0;
  const HostTimes times = time_calls(repetitions_for(residents), 1, [&] {
    holders = std::get<Infeasible>(decide(state, request, policy, metadata)).holders.size();
  });
  return row("infeasible, everything held", residents,
             "infeasible, everything held, " + std::to_string(residents) + " residents", times, 0,
             std::to_string(holders) + " holders named");
}

}  // namespace

std::vector<Row> decide_rows() {
  std::vector<Row> rows;
  for (const bool equal : {true, false}) {
    rows.push_back(full_device(50, equal, 0));
    rows.push_back(full_device(200, equal, 50));
    rows.push_back(full_device(800, equal, 300));
    rows.push_back(full_device(5000, equal, 0));
  }
  for (const int residents : {50, 200, 800, 5000}) rows.push_back(half_there(residents));
  rows.push_back(oversized_reservation(16, 10));
  for (const int residents : {200, 800, 5000}) rows.push_back(oversized_reservation(residents, 0));
  for (const int residents : {50, 200, 800, 5000}) rows.push_back(everything_held(residents));
  return rows;
}

}  // namespace fheres::bench
