#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fheres/compile/compile.hpp>
#include <fheres/workload/variants.hpp>

#include "problem.hpp"
#include "relaxation.hpp"

namespace fheres::compile {

using workload::Selection;
__extension__ using Wide = __int128;

/// What room costs, by Problem::rooms and stage, in 1 / Bound::kOne bytes moved for a byte of room; never negative.
using Prices = std::vector<std::vector<std::int64_t>>;

/// Prices of room under which a problem's bound is strong: from the relaxation where this build has it.
Prices prices_of(const Problem& problem);

/// All variants of a workload at once. What a variant changes is its own value's or its own stage's matter; so at fixed
/// prices of room (Lagrange's relaxation, as in Bound) every question has a term of its own, and
///     the rest + sum over questions of the least of its variants' terms
/// is at most what the best plan of any combination moves. One workload for each variant number is enough to know all
/// terms: the one in which every question has that variant, or its last. Immutable.
class Alternatives {
 public:
  explicit Alternatives(const Workload& workload);

  const std::vector<workload::Question>& questions() const { return workload_.questions; }
  std::size_t most_variants() const { return versions_.size(); }
  Workload with(const Selection& selection) const { return workload::select(workload_, selection); }

  /// At some prices: what every question's variants add, in 1 / Bound::kOne bytes.
  struct Priced {
    Wide rest = 0;
    std::vector<std::vector<Wide>> terms;  // by question and variant
  };
  Priced priced(const Prices& prices) const;
  /// The same where starting at a budgeted location has a price as well: the one at which the bound is strongest.
  Priced with_placement(Priced priced) const;
  /// No plan moves less whose questions are answered as `fixed` says; where it says nothing, they may have any answer.
  Bytes bound(const Priced& priced, const std::vector<std::optional<std::size_t>>& fixed) const;
  /// Prices at which the bound is as strong as prices make it, and how much of each variant the relaxation that they come
  /// from takes. Empty without a solver, and where the relaxation is too large.
  struct Best {
    Prices prices;
    std::vector<std::vector<double>> shares;  // by question and variant
  };
  Best best_prices() const;
  /// The cheapest variant of each question at these prices, the first of equals.
  static Selection cheapest(const Priced& priced);

  /// A sum that no combination gets around, with the lines of the smallest variants there.
  std::optional<Infeasible> certificate() const;
  /// What has to be at a location at once in a stage (a room of Problem::rooms), in the smallest variants there.
  std::vector<std::vector<Bytes>> least_loads() const;
  /// The same for what starts at the room's location.
  std::vector<Bytes> least_placed() const;
  /// The questions about what a stage needs room for.
  std::vector<std::size_t> asked_in(std::size_t stage) const;
  /// What needs least room where that is scarcest.
  Selection smallest() const;

 private:
  struct Version {
    Workload workload;
    Problem problem;
    std::vector<std::vector<std::size_t>> lanes;  // by question
  };
  using Place = std::pair<std::size_t, std::size_t>;  // room, stage
  using Loads = std::map<Place, Bytes>;

  std::size_t variants(std::size_t question) const { return questions()[question].variants.size(); }
  const Problem& first() const { return versions_.front().problem; }
  Wide term(const Version& version, std::size_t question, const std::vector<std::vector<Wide>>& sums) const;
  Loads loads(const Version& version, std::size_t question) const;
  Joint joint() const;
  Selection least_at(Place place) const;
  void place_loads();
  Bytes placed_always(std::size_t room) const;

  Workload workload_;
  std::vector<Version> versions_;           // by variant number
  std::vector<std::vector<Loads>> loads_;   // by question and variant: what it has to have where
  std::vector<std::vector<Bytes>> placed_;  // by question and variant * rooms: what starts where
  std::vector<std::size_t> stage_of_;       // by question: of those about a stage
  Bytes unit_ = 1;
};

}  // namespace fheres::compile
