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

}  // namespace fheres::compile
