#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fheres/memory/emulated.hpp>
#include <fheres/residency/manager.hpp>

#include "support/allocations.hpp"

namespace fheres::residency::test {

inline const Location kPageable = Location::pageable_host();
inline const Location kPinned = Location::pinned_host();
inline const Location kDevice = Location::cuda(0);
inline const Location kOther = Location::cuda(1);
inline constexpr Bytes kUnit = 4 * kGranule;

inline ValueSpec make_spec(const std::string& name, Bytes bytes, ReplicaMode mode = ReplicaMode::replicable,
                           Recoverability recoverability = Recoverability::must_preserve) {
  ValueSpec spec;
  spec.name = name;
  spec.type = "bytes";
  spec.logical_bytes = bytes;
  spec.storage_bytes = round_up_to_granule(bytes);
  spec.replica_mode = mode;
  spec.recoverability = recoverability;
  return spec;
}

inline ValueSpec reconstructible(const std::string& name, Bytes bytes) {
  return make_spec(name, bytes, ReplicaMode::replicable, Recoverability::reconstructible);
}

/// A manager on the stepped driver: queued work completes when a test steps, or when somebody synchronizes.
struct World {
  explicit World(std::map<Location, Bytes> budgets = {}, int devices = 2, CopyRules copies = {},
                 bool arrivals_end_when_settled = false)
      : stepped(memory::make_stepped_driver(
            {.devices = devices, .one_allocation_per_block = fheres::test::one_allocation_per_block()})) {
    ManagerOptions options;
    options.budgets = std::move(budgets);
    options.copies = std::move(copies);
    options.arrivals_end_when_settled = arrivals_end_when_settled;
    options.warn = [this](const std::string& line) { warnings.push_back(line); };
    manager = std::make_unique<Manager>(stepped, options);
  }
  ~World() { manager.reset(); }

  /// A value of `bytes` bytes, each of them `fill`.
  HandleId put(const std::string& name, Bytes bytes, Location at, unsigned char fill = 0,
               ReplicaMode mode = ReplicaMode::replicable) {
    Allocation block = manager->allocate(at, bytes);
    std::memset(block.data(), fill, block.bytes());
    return manager->adopt(std::move(block), at, make_spec(name, bytes, mode));
  }

  HandleId source(const std::string& name, Bytes bytes, Location at, unsigned char fill = 0) {
    return manager->register_source(
        reconstructible(name, bytes),
        [fill](LoadContext& context) {
          memory::Block block = context.allocate();
          std::memset(block.data(), fill, block.bytes());
          return block;
        },
        at);
  }

  bool at(HandleId value, Location where) {
    const State state = manager->planning_state();
    return state.record(value).at(where) != nullptr;
  }

  Account account(Location where) {
    const Snapshot seen = manager->snapshot();
    const LocationSnapshot* found = seen.at(where);
    return found ? found->account : Account{};
  }

  /// The recount of State, and the region's own word, agree with the accounts (R26).
  bool accounts_hold() {
    const State state = manager->planning_state();
    const std::vector<Account> counted = state.recount();
    for (std::size_t i = 0; i < counted.size(); ++i) {
      const Account& kept = state.accounts()[i];
      if (counted[i].used != kept.used || counted[i].reserved != kept.reserved) return false;
    }
    const Snapshot seen = manager->snapshot();
    for (const LocationSnapshot& l : seen.locations)
      if (l.allocated > l.account.used + l.account.reserved) return false;
    return true;
  }

  unsigned char first_byte(HandleId value, Location where) {
    Lease lease = where.is_cuda() ? manager->acquire({value}, where, stepped->make_stream(where, "look"))
                                  : manager->acquire({value}, where);
    const auto byte = static_cast<unsigned char>(*lease.view(value).data);
    lease.release(true);
    return byte;
  }

  std::shared_ptr<memory::SteppedDriver> stepped;
  std::vector<std::string> warnings;
  std::unique_ptr<Manager> manager;
};

template <class E, class F>
E caught(F&& work) {
  try {
    work();
  } catch (const E& e) {
    return e;
  }
  throw std::runtime_error("the expected exception was not thrown");
}

/// Where values are, and what locations are charged and have allocated, to compare before and after.
inline std::string placement(Manager& manager) {
  std::string text;
  const Snapshot seen = manager.snapshot();
  for (const ValueSnapshot& v : seen.values) {
    text += v.spec->name + ":";
    for (const MaterializationSnapshot& m : v.materializations) text += " " + m.at.name();
    text += ";";
  }
  for (const LocationSnapshot& l : seen.locations)
    text += l.account.at.name() + "=" + std::to_string(l.account.used) + "+" +
            std::to_string(l.account.reserved) + "/" + std::to_string(l.allocated) + ";";
  return text;
}

}  // namespace fheres::residency::test
