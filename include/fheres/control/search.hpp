#pragma once

#include <cstdint>

#include <fheres/control/decision.hpp>
#include <fheres/control/metadata.hpp>
#include <fheres/control/policy.hpp>
#include <fheres/control/request.hpp>
#include <fheres/residency/state.hpp>

namespace fheres::control {

/// policy: the first plan in policy order, pruned.
/// bytes: the fewest bytes copied or loaded, ties in policy order.
enum class Objective { policy, bytes };

struct DecideOptions {
  std::uint64_t search_state_limit = 200'000;  // states that the search may open, never a time
  Objective objective = Objective::policy;
  residency::Detail detail = residency::Detail::brief;  // of the decision's explanation
};

/// How to serve `request` from `state`: a plan with its evictions, a proof that there is none, or neither within
/// the limit (R56 to R60). A pure function: it changes nothing, and equal arguments give equal answers.
///
/// Plans are sequences of drops and of moves along the policy's tiers (evictions), one admission of all the
/// request's reservations, and after it placements of the request's endpoints, with further evictions between
/// them where nothing else works. `Infeasible` means that no such sequence exists.
///
/// Throws as check_request does, and std::logic_error for a policy that breaks its contract.
Outcome decide(const residency::State& state, const Request& request, const Policy& policy,
               const ValueMetadata& metadata, const DecideOptions& options = {});

}  // namespace fheres::control
