#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include <fheres/base/bytes.hpp>
#include <fheres/base/error.hpp>
#include <fheres/memory/location.hpp>
#include <fheres/residency/handle.hpp>

namespace fheres::residency {

using memory::Location;

/// How many tokens protect one materialization: leases, holds, and consumers whose event is not complete yet.
struct Protection {
  std::uint32_t use = 0;
  std::uint32_t hold = 0;
  std::uint32_t pending = 0;
  bool any() const { return use + hold + pending != 0; }
  friend bool operator==(const Protection&, const Protection&) = default;
};

/// Root of residency's own errors; the code of each class is in its comment (design, page 03, "Errors").
class ResidencyError : public Error {
 public:
  using Error::Error;
};

/// `residency/handle`: foreign, unknown, discarded or ill-typed.
class HandleError : public ResidencyError {
 public:
  enum class Reason { foreign, unknown, discarded, ill_typed };
  HandleError(Reason why, HandleId handle, const std::string& message);
  Reason reason;
  HandleId handle;
};
/// `residency/unavailable`: no materialization where one is needed, and no way to rebuild it.
class UnavailableError : public ResidencyError {
 public:
  explicit UnavailableError(const std::string& message) : ResidencyError("residency/unavailable", message) {}
};
/// `residency/budget`.
class BudgetError : public ResidencyError {
 public:
  BudgetError(Location where, Bytes budget_, Bytes used_, Bytes reserved_, Bytes requested_,
              const std::string& what);
  Location at;
  Bytes budget, used, reserved, requested;
};
/// A BudgetError though the bytes are there: protected blocks keep them apart, so that no compaction can make a
/// piece of what is requested (R27).
class FragmentedError : public BudgetError {
 public:
  FragmentedError(Location where, Bytes budget_, Bytes used_, Bytes reserved_, Bytes requested_,
                  Bytes largest_free_, std::vector<std::string> in_the_way_, const std::string& what);
  Bytes largest_free;                   // the most that sliding could bring together
  std::vector<std::string> in_the_way;  // names of values, or labels of reservations, by address
};
/// `residency/in-use`.
class InUseError : public ResidencyError {
 public:
  InUseError(Protection counts_, const std::string& message);
  Protection counts;
};
/// `residency/ownership`: replica or last-copy rule, shared storage.
class OwnershipError : public ResidencyError {
 public:
  explicit OwnershipError(const std::string& message) : ResidencyError("residency/ownership", message) {}
};
/// `residency/materialization`: a loaded or moved block is not what the specification says.
class MaterializationError : public ResidencyError {
 public:
  explicit MaterializationError(const std::string& message)
      : ResidencyError("residency/materialization", message) {}
};
/// `residency/plan`: infeasible at preflight; nothing was executed.
class PlanError : public ResidencyError {
 public:
  explicit PlanError(const std::string& message) : ResidencyError("residency/plan", message) {}
};
/// `residency/search-limit`: inconclusive, not infeasible.
class SearchLimitError : public ResidencyError {
 public:
  SearchLimitError(std::string request_, std::uint64_t limit_, std::uint64_t explored_,
                   const std::string& detail);
  std::string request;
  std::uint64_t limit, explored;
};
/// `residency/stale`.
class StaleStateError : public ResidencyError {
 public:
  StaleStateError(std::uint64_t expected_, std::uint64_t actual_);
  std::uint64_t expected, actual;
};
/// `residency/reentrancy`.
class ReentrancyError : public ResidencyError {
 public:
  ReentrancyError();
};
/// `residency/lifetime-closed`: a released lease, hold, reservation or scope is used.
class LifetimeClosedError : public ResidencyError {
 public:
  explicit LifetimeClosedError(const std::string& message)
      : ResidencyError("residency/lifetime-closed", message) {}
};
/// `residency/closed`.
class ClosedError : public ResidencyError {
 public:
  ClosedError();
};
// PlanExecutionError carries a PlanReport and lives with it in residency/trace.hpp.

}  // namespace fheres::residency
