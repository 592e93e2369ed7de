#include "relaxation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>

#include <fheres/base/check.hpp>

#ifdef FHERES_HAS_CLP
#include <ClpSimplex.hpp>
#include <CoinPackedMatrix.hpp>
#endif

namespace fheres::compile {

#ifdef FHERES_HAS_CLP

namespace {

/// Where thousands of columns cost the same and begin or end together, most steps of the simplex gain nothing: with costs
/// moved a little, always in the same way, 10,000 stages take a quarter of the time. Prices are those of the question as it
/// is. Small ones are fast as they are, and of equal optima the solver's first makes as good plans as any.
constexpr std::size_t kManyColumns = 10'000;
constexpr int kAlways = 50;

}  // namespace

// Rows say how much has to go in one stage, and differ from their neighbours by what begins and ends: so each column has
// two entries, however many stages it spans, and a slack links each row to the next.
struct Relaxation::Model {
  ClpSimplex simplex;
  std::size_t columns = 0;
};

Relaxation::Relaxation(const Problem& problem, const Bound& bound)
    : bound_(bound), model_(std::make_unique<Model>()) {
  const auto& rows = bound.rows();
  const auto& columns = bound.columns();
  FHERES_CHECK(!rows.empty());
  model_->columns = columns.size();
  double scale = 1;  // so that charges are at most 1
  for (const Bound::Column& column : columns) scale = std::max(scale, static_cast<double>(column.charge));
  std::vector<int> row_of, column_of;
  std::vector<double> entries;
  const auto put = [&](std::size_t row, std::size_t column, double value) {
    row_of.push_back(static_cast<int>(row));
    column_of.push_back(static_cast<int>(column));
    entries.push_back(value);
  };
  const auto linked = [&](std::size_t row) {
    return row < rows.size() && row > 0 && rows[row].room == rows[row - 1].room;
  };
  std::vector<double> cost, upper, row_lower, row_upper;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const double charge = static_cast<double>(columns[c].charge) / scale;
    put(columns[c].first_row, c, charge);
    if (linked(columns[c].last_row + 1)) put(columns[c].last_row + 1, c, -charge);
    cost.push_back(static_cast<double>(columns[c].cost) / scale);
    upper.push_back(1);
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    put(r, columns.size() + r, -1);
    if (linked(r + 1)) put(r + 1, columns.size() + r, 1);
    cost.push_back(0);
    upper.push_back(COIN_DBL_MAX);
    const double before = linked(r) ? static_cast<double>(rows[r - 1].missing) : 0;
    row_lower.push_back((static_cast<double>(rows[r].missing) - before) / scale);
    row_upper.push_back(row_lower.back());
  }
  for (std::size_t c = 0; c < columns.size();) {
    const std::size_t lane = columns[c].lane;
    const std::size_t first = c;
    while (c < columns.size() && columns[c].lane == lane) ++c;
    if (bound.offload(lane) == 0) continue;
    const std::size_t once = cost.size();
    cost.push_back(static_cast<double>(bound.offload(lane)) / scale);
    upper.push_back(1);
    for (std::size_t k = first; k < c; ++k) {
      put(row_lower.size(), once, 1);
      put(row_lower.size(), k, -1);
      row_lower.push_back(0);
      row_upper.push_back(COIN_DBL_MAX);
    }
  }
  (void)problem;
  const std::vector<double> lower(cost.size(), 0.0);
  CoinPackedMatrix matrix(true, row_of.data(), column_of.data(), entries.data(),
                          static_cast<CoinBigIndex>(entries.size()));
  matrix.setDimensions(static_cast<int>(row_lower.size()), static_cast<int>(cost.size()));
  model_->simplex.setLogLevel(0);
  if (columns.size() >= kManyColumns) model_->simplex.setPerturbation(kAlways);
  model_->simplex.loadProblem(matrix, lower.data(), upper.data(), cost.data(), row_lower.data(),
                              row_upper.data());
}

Relaxation::~Relaxation() = default;

bool Relaxation::available() { return true; }

void Relaxation::set(std::size_t column, Bound::Fixed state) {
  const int c = static_cast<int>(column);
  model_->simplex.setColumnBounds(c, state == Bound::Fixed::gone ? 1 : 0,
                                  state == Bound::Fixed::kept ? 0 : 1);
}

bool Relaxation::solve() {
  model_->simplex.dual();
  return model_->simplex.isProvenOptimal();
}

std::vector<std::int64_t> Relaxation::prices() const {
  const auto& rows = bound_.rows();
  const double* dual = model_->simplex.getRowPrice();
  std::vector<std::int64_t> prices(rows.size(), 0);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const bool linked = r + 1 < rows.size() && rows[r + 1].room == rows[r].room;
    const double price = dual[r] - (linked ? dual[r + 1] : 0);
    if (!(price > 0)) continue;
    prices[r] =
        static_cast<std::int64_t>(std::llround(std::min(price, 64.0) * static_cast<double>(Bound::kOne)));
  }
  return prices;
}

std::vector<double> Relaxation::shares() const {
  const double* values = model_->simplex.getColSolution();
  return {values, values + model_->columns};
}

namespace {

/// Builds the joint relaxation column by column, and reads its prices.
class JointModel {
 public:
  explicit JointModel(const Joint& joint) : joint_(joint), rows_(joint.free.size() * joint.stages) {
    for (const auto& room : joint.free)
      for (const std::int64_t bytes : room) scale_ = std::max(scale_, std::abs(static_cast<double>(bytes)));
    for (std::size_t room = 0; room < joint.free.size(); ++room)
      for (std::size_t s = 0; s < joint.stages; ++s) add_row(room, s);
    for (const std::int64_t bytes : joint.placed_free)
      add_bounds(-COIN_DBL_MAX, static_cast<double>(bytes) / scale_);
    add_part(joint.rest, add_column(0, 1, 1));
    for (const auto& parts : joint.questions) {
      const std::size_t one = add_bounds(1, 1);
      for (const Joint::Part& part : parts) {
        const std::size_t share = add_column(static_cast<double>(part.compulsory) / scale_, 0, 1);
        put(one, share, 1);
        shares_.push_back(share);
        add_part(part, share);
      }
    }
  }

  JointPrices solve() {
    ClpSimplex simplex;
    CoinPackedMatrix matrix(true, row_of_.data(), column_of_.data(), entries_.data(),
                            static_cast<CoinBigIndex>(entries_.size()));
    matrix.setDimensions(static_cast<int>(row_lower_.size()), static_cast<int>(cost_.size()));
    simplex.setLogLevel(0);
    simplex.loadProblem(matrix, lower_.data(), upper_.data(), cost_.data(), row_lower_.data(),
                        row_upper_.data());
    simplex.dual();
    JointPrices result;
    if (!simplex.isProvenOptimal()) return result;
    const double* dual = simplex.getRowPrice();
    for (std::size_t room = 0; room < joint_.free.size(); ++room) {
      auto& prices = result.prices.emplace_back(joint_.stages, 0);
      for (std::size_t s = 0; s < joint_.stages; ++s) {
        const std::size_t row = room * joint_.stages + s;
        const double price = (s + 1 < joint_.stages ? dual[row + 1] : 0) - dual[row];
        if (price > 0) prices[s] = std::llround(std::min(price, 64.0) * static_cast<double>(Bound::kOne));
      }
    }
    const double* values = simplex.getColSolution();
    std::size_t next = 0;
    for (const auto& parts : joint_.questions) {
      auto& shares = result.shares.emplace_back();
      for (std::size_t k = 0; k < parts.size(); ++k) shares.push_back(values[shares_[next++]]);
    }
    return result;
  }

 private:
  void put(std::size_t row, std::size_t column, double value) {
    row_of_.push_back(static_cast<int>(row));
    column_of_.push_back(static_cast<int>(column));
    entries_.push_back(value);
  }
  std::size_t add_bounds(double lower, double upper) {
    row_lower_.push_back(lower);
    row_upper_.push_back(upper);
    return row_lower_.size() - 1;
  }
  std::size_t add_column(double cost, double lower, double upper) {
    cost_.push_back(cost);
    lower_.push_back(lower);
    upper_.push_back(upper);
    return cost_.size() - 1;
  }

  /// What is taken and what is left of a stage's room, less that of the stage before.
  void add_row(std::size_t room, std::size_t s) {
    const std::int64_t before = s == 0 ? 0 : joint_.free[room][s - 1];
    const double more = static_cast<double>(joint_.free[room][s] - before) / scale_;
    const std::size_t row = add_bounds(more, more);
    const std::size_t slack = add_column(0, 0, COIN_DBL_MAX);
    put(row, slack, 1);
    if (s + 1 < joint_.stages) put(row + 1, slack, -1);
  }

  void add_part(const Joint::Part& part, std::size_t share) {
    std::map<std::size_t, double> changes;  // by row
    const auto take = [&](std::size_t room, std::size_t first, std::size_t last, double bytes) {
      changes[room * joint_.stages + first] += bytes / scale_;
      if (last + 1 < joint_.stages) changes[room * joint_.stages + last + 1] -= bytes / scale_;
    };
    for (const Joint::Taken& item : part.taken)
      take(item.room, item.first, item.last, static_cast<double>(item.bytes));
    for (const std::size_t l : part.lanes) {
      const Lane& lane = part.problem->lanes[l];
      std::optional<std::size_t> once;
      if (lane.offload != 0) {
        once = add_column(static_cast<double>(lane.offload) / scale_, 0, 1);
      }
      for (const std::size_t i : lane.intervals) {
        const Interval& item = part.problem->intervals[i];
        if (!item.forced && item.cost == 0 && !once) continue;  // it goes
        const double bytes = static_cast<double>(item.least_charge);
        take(item.room, item.first, item.last, bytes);
        if (item.forced) continue;
        const std::size_t goes = add_column(static_cast<double>(item.cost) / scale_, 0, 1);
        const std::size_t row = item.room * joint_.stages + item.first;
        put(row, goes, -bytes / scale_);
        if (item.last + 1 < joint_.stages) put(row + item.last + 1 - item.first, goes, bytes / scale_);
        at_most(goes, share);
        if (once) at_most(goes, *once);
      }
    }
    for (const auto& [row, change] : changes)
      if (change != 0) put(row, share, change);
    for (std::size_t room = 0; room < part.placed.size(); ++room)
      if (part.placed[room] != 0) put(rows_ + room, share, static_cast<double>(part.placed[room]) / scale_);
  }

  void at_most(std::size_t column, std::size_t other) {
    const std::size_t row = add_bounds(-COIN_DBL_MAX, 0);
    put(row, column, 1);
    put(row, other, -1);
  }

  const Joint& joint_;
  const std::size_t rows_;  // of rooms
  double scale_ = 1;        // so that charges are at most 1
  std::vector<int> row_of_, column_of_;
  std::vector<double> entries_, cost_, lower_, upper_, row_lower_, row_upper_;
  std::vector<std::size_t> shares_;
};

}  // namespace

JointPrices solve_joint(const Joint& joint) { return JointModel(joint).solve(); }

#else

JointPrices solve_joint(const Joint&) { return {}; }

struct Relaxation::Model {};
Relaxation::Relaxation(const Problem&, const Bound& bound) : bound_(bound) { FHERES_CHECK(available()); }
Relaxation::~Relaxation() = default;
bool Relaxation::available() { return false; }
void Relaxation::set(std::size_t, Bound::Fixed) {}
bool Relaxation::solve() { return false; }
std::vector<std::int64_t> Relaxation::prices() const {
  return std::vector<std::int64_t>(bound_.rows().size(), 0);
}
std::vector<double> Relaxation::shares() const { return {}; }

#endif

std::size_t Joint::size() const {
  std::size_t sum = free.size() * stages;
  const auto add = [&](const Part& part) {
    for (const std::size_t lane : part.lanes) sum += 2 * part.problem->lanes[lane].intervals.size() + 1;
  };
  add(rest);
  for (const auto& parts : questions) std::for_each(parts.begin(), parts.end(), add);
  return sum;
}

}  // namespace fheres::compile
