#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bound.hpp"

namespace fheres::compile {

/// A plan that keeps intervals in this order, as long as there is room; `exchange`: improved afterwards. Returns what the
/// best plan so far moves.
using Offer = std::function<Bytes(const char* method, const std::vector<std::size_t>& order, bool exchange)>;

struct Branched {
  /// No plan moves less.
  Bytes lower_bound = 0;
  std::uint64_t nodes = 0;
  bool lp = false;  // prices came from the relaxation
};

/// The bound at the root, plans out of its shares, and then nodes with an interval decided more each, the least bound
/// first, until every node's bound has reached the best plan or so many nodes were opened. `best` is what the best plan
/// moves that is known before; the largest possible number where there is none. Deterministic.
Branched branch_and_bound(const Problem& problem, const Bound& bound, Bytes best, std::uint64_t node_limit,
                          const Offer& offer);

}  // namespace fheres::compile
