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
/// Which one wins (R58): the first complete sequence in policy order, then shortened (R59). The order:
/// 1. The direct way: the reservations, then each endpoint as the request has them. Where one lacks room at
///    a location, victims leave that location in policy order, one at a time, until it fits: values that
///    are not requested first, then those requested elsewhere. Each is dropped or, as an only copy, moved
///    to the first tier that can take it, where room is made in the same manner. A location's victims are
///    ordered once, when it first lacks room; one that could not leave is not tried again; and no room is
///    made at a location while it is being made there.
/// 2. Only where that fails: first, whatever is not requested leaves each budgeted location where nobody
///    loses anything (it survives elsewhere, can be rebuilt, or moves to the first tier without a budget),
///    in location order and there in policy order. From there the first way of a depth-first search, which
///    at each point goes on (the reservations, then the endpoints that are not there) before it evicts, and
///    evicts where going on first lacked room before it does at other locations: in policy order, those
///    requested elsewhere after the others and those requested here last; a drop before moves, moves in
///    tier order. No situation is entered twice, and of values that no rule tells apart the first in policy
///    order stands for all.
/// Shortening puts evictions before the reservations where all of them can be there, then leaves out single
/// evictions, the last first, until none can be left out; after a search, moves go to the earliest tier
/// that serves as well.
///
/// Throws as check_request does, and std::logic_error for a policy that breaks its contract.
Outcome decide(const residency::State& state, const Request& request, const Policy& policy,
               const ValueMetadata& metadata, const DecideOptions& options = {});

}  // namespace fheres::control
