#include "volume.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fheres::compile {
namespace {

using Fixed = Bound::Fixed;

/// The part of each step's choice in the average, at first and at last.
constexpr double kFirstPart = 0.1, kLastPart = 0.002;
/// After so many steps in which the bound grew by less than a thousandth the part is halved.
constexpr int kPatience = 50;
/// After so many steps in a row without a better bound they become shorter.
constexpr int kFailures = 10;

/// The bound's question at some prices: what goes, what that is worth, and where too little or too much goes.
class Question {
 public:
  Question(const Bound& bound, const std::vector<Fixed>& fixed)
      : bound_(bound),
        fixed_(fixed),
        goes(bound.columns().size()),
        lack(bound.rows().size()),
        before_(bound.rows().size() + 1) {}

  void ask(const std::vector<double>& prices) {
    const auto& rows = bound_.rows();
    const auto& columns = bound_.columns();
    value = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      before_[r + 1] = before_[r] + prices[r];
      value += prices[r] * static_cast<double>(rows[r].missing);
    }
    for (std::size_t c = 0; c < columns.size();) {
      const std::size_t first = c, lane = columns[c].lane;
      double sum = static_cast<double>(bound_.offload(lane));
      bool forced = false;
      for (; c < columns.size() && columns[c].lane == lane; ++c) {
        const Bound::Column& column = columns[c];
        const double worth =
            static_cast<double>(column.cost) -
            (before_[column.last_row + 1] - before_[column.first_row]) * static_cast<double>(column.charge);
        const Fixed state = fixed_.empty() ? Fixed::open : fixed_[c];
        goes[c] = state == Fixed::gone || (state == Fixed::open && worth < 0) ? 1 : 0;
        forced = forced || state == Fixed::gone;
        if (goes[c] != 0) sum += worth;
      }
      if (forced || sum < 0) {
        value += sum;
      } else {
        std::fill(goes.begin() + static_cast<std::ptrdiff_t>(first),
                  goes.begin() + static_cast<std::ptrdiff_t>(c), 0.0);
      }
    }
    lacking(goes, lack);
  }

  /// By row: what is missing, less what goes.
  void lacking(const std::vector<double>& going, std::vector<double>& out) {
    const auto& rows = bound_.rows();
    const auto& columns = bound_.columns();
    ends_.assign(rows.size() + 1, 0);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const double bytes = going[c] * static_cast<double>(columns[c].charge);
      ends_[columns[c].first_row] += bytes;
      ends_[columns[c].last_row + 1] -= bytes;
    }
    double sum = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      sum += ends_[r];
      out[r] = static_cast<double>(rows[r].missing) - sum;
    }
  }

 private:
  const Bound& bound_;
  const std::vector<Fixed>& fixed_;

 public:
  double value = 0;
  std::vector<double> goes;  // by column: 0 or 1
  std::vector<double> lack;  // by row

 private:
  std::vector<double> before_, ends_;
};

}  // namespace

Priced volume(const Bound& bound, const std::vector<std::int64_t>& start, double target, int rounds,
              const std::vector<Fixed>& fixed) {
  const std::size_t rows = bound.rows().size();
  const auto one = static_cast<double>(Bound::kOne);
  std::vector<double> best(rows), prices(rows), lack(rows);
  for (std::size_t r = 0; r < std::min(rows, start.size()); ++r)
    best[r] = static_cast<double>(start[r]) / one;
  Question now(bound, fixed);
  now.ask(best);
  double value = now.value, before = value;
  std::vector<double> shares = now.goes;
  double step = 0.5, part = kFirstPart;
  int failures = 0;
  for (int round = 0; round < rounds; ++round) {
    now.lacking(shares, lack);
    double square = 0;
    for (std::size_t r = 0; r < rows; ++r)
      if (best[r] > 0 || lack[r] > 0) square += lack[r] * lack[r];
    if (square <= 0) break;
    // What is aimed at lies a little beyond, lest steps vanish before the bound is reached.
    const double aim = std::max(target, value + std::abs(value) * 0.0005 + 1);
    const double length = step * (aim - value) / square;
    for (std::size_t r = 0; r < rows; ++r) prices[r] = std::max(0.0, best[r] + length * lack[r]);
    now.ask(prices);
    double along = 0;
    for (std::size_t r = 0; r < rows; ++r) along += now.lack[r] * lack[r];
    for (std::size_t c = 0; c < shares.size(); ++c) shares[c] += part * (now.goes[c] - shares[c]);
    if (now.value > value) {
      value = now.value;
      std::swap(best, prices);
      step = std::min(step * (along > 0 ? 1.5 : 1.1), 2.0);
      failures = 0;
    } else if (++failures >= kFailures) {
      step = std::max(step * 0.66, 1e-3);
      failures = 0;
    }
    if (round % kPatience == kPatience - 1) {
      if (value - before < std::abs(value) * 1e-3) part = std::max(part / 2, kLastPart);
      before = value;
    }
  }
  Priced result{std::vector<std::int64_t>(rows), std::move(shares)};
  for (std::size_t r = 0; r < rows; ++r)
    result.prices[r] = static_cast<std::int64_t>(std::llround(std::min(best[r], 64.0) * one));
  return result;
}

}  // namespace fheres::compile
