#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bound.hpp"

namespace fheres::compile {

/// The linear relaxation of a Bound's question, where an interval may go in part: solved in floating point by COIN-OR
/// CLP, for prices that make the integer bound strong and shares that make good plans. It proves nothing by itself.
/// Deterministic. Not thread safe.
class Relaxation {
 public:
  /// Whether this build has the solver.
  static bool available();

  /// Only where available() is true, and the bound has rows.
  explicit Relaxation(const Problem& problem, const Bound& bound);
  ~Relaxation();
  Relaxation(const Relaxation&) = delete;
  Relaxation& operator=(const Relaxation&) = delete;

  /// What a branch has decided of a column.
  void set(std::size_t column, Bound::Fixed state);
  /// False where the solver gave up; the prices hold all the same.
  bool solve();
  /// By row, never negative.
  std::vector<std::int64_t> prices() const;
  /// By column: how much of it goes, from 0 to 1.
  std::vector<double> shares() const;

 private:
  struct Model;
  const Bound& bound_;
  std::unique_ptr<Model> model_;
};

/// The same for a workload whose variants are open (Alternatives): what any plan pays and takes, and for each question
/// parts of which one is chosen. A plain value.
struct Joint {
  /// Room that is taken in stages [first, last], whatever is kept.
  struct Taken {
    std::size_t room = 0;
    std::size_t first = 0, last = 0;
    std::int64_t bytes = 0;
  };
  struct Part {
    Bytes compulsory = 0;
    std::vector<Taken> taken;
    std::vector<std::int64_t> placed;  // by room: what starts there
    const Problem* problem = nullptr;
    std::vector<std::size_t> lanes;  // of it
  };
  std::size_t stages = 0;
  std::vector<std::vector<std::int64_t>> free;  // by room and stage, before any part takes something
  std::vector<std::int64_t> placed_free;        // by room
  Part rest;
  std::vector<std::vector<Part>> questions;  // by question and variant

  /// Rows and columns of the relaxation, about.
  std::size_t size() const;
};

/// By room and stage: the prices of room at the optimum of the linear relaxation in which a part of each variant may be
/// chosen; by question and variant, how much of it is. Both empty where this build has no solver or it gave up.
struct JointPrices {
  std::vector<std::vector<std::int64_t>> prices;
  std::vector<std::vector<double>> shares;
};
JointPrices solve_joint(const Joint& joint);

}  // namespace fheres::compile
