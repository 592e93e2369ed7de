#include "relaxation.hpp"

#include <algorithm>
#include <cmath>

#include <fheres/base/check.hpp>

#ifdef FHERES_HAS_CLP
#include <ClpSimplex.hpp>
#include <CoinPackedMatrix.hpp>
#endif

namespace fheres::compile {

#ifdef FHERES_HAS_CLP

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

#else

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

}  // namespace fheres::compile
