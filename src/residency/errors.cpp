#include <fmt/format.h>

#include <fheres/residency/errors.hpp>

namespace fheres::residency {

HandleError::HandleError(Reason why, HandleId which, const std::string& message)
    : ResidencyError("residency/handle", message), reason(why), handle(which) {}

BudgetError::BudgetError(Location where, Bytes budget_, Bytes used_, Bytes reserved_, Bytes requested_,
                         const std::string& message)
    : ResidencyError("residency/budget", message),
      at(where),
      budget(budget_),
      used(used_),
      reserved(reserved_),
      requested(requested_) {}

FragmentedError::FragmentedError(Location where, Bytes budget_, Bytes used_, Bytes reserved_,
                                 Bytes requested_, Bytes largest_free_, std::vector<std::string> in_the_way_,
                                 const std::string& message)
    : BudgetError(where, budget_, used_, reserved_, requested_, message),
      largest_free(largest_free_),
      in_the_way(std::move(in_the_way_)) {}

InUseError::InUseError(Protection counts_, const std::string& message)
    : ResidencyError("residency/in-use", message), counts(counts_) {}

SearchLimitError::SearchLimitError(std::string request_, std::uint64_t limit_, std::uint64_t explored_,
                                   const std::string& detail)
    : ResidencyError("residency/search-limit",
                     fmt::format("request '{}' is undecided after {} of at most {} states: {}", request_,
                                 explored_, limit_, detail)),
      request(std::move(request_)),
      limit(limit_),
      explored(explored_) {}

StaleStateError::StaleStateError(std::uint64_t expected_, std::uint64_t actual_)
    : ResidencyError("residency/stale",
                     fmt::format("expected state version {}, the state is at {}", expected_, actual_)),
      expected(expected_),
      actual(actual_) {}

ReentrancyError::ReentrancyError()
    : ResidencyError("residency/reentrancy",
                     "the manager is closed to other operations while a source loads") {}

ClosedError::ClosedError() : ResidencyError("residency/closed", "the manager is closed") {}

}  // namespace fheres::residency
