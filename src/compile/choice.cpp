#include "choice.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fheres/base/check.hpp>

namespace fheres::compile {
namespace {

constexpr std::int64_t kPlenty = std::numeric_limits<std::int64_t>::max() / 4;

}  // namespace

Ledger::Ledger(const std::vector<std::int64_t>& free) : size_(1) {
  while (size_ < free.size()) size_ *= 2;
  least_.assign(2 * size_, kPlenty);
  added_.assign(2 * size_, 0);
  std::copy(free.begin(), free.end(), least_.begin() + static_cast<std::ptrdiff_t>(size_));
  for (std::size_t i = size_ - 1; i > 0; --i) least_[i] = std::min(least_[2 * i], least_[2 * i + 1]);
}

void Ledger::add(std::size_t first, std::size_t last, std::int64_t bytes) {
  change(1, 0, size_ - 1, first, last, bytes);
}

std::int64_t Ledger::least(std::size_t first, std::size_t last) const {
  return walk(1, 0, size_ - 1, first, last);
}

std::size_t Ledger::first_below(std::size_t first, std::size_t last, std::int64_t bytes) const {
  return std::min(find(1, 0, size_ - 1, first, last, bytes, 0), last + 1);
}

std::int64_t Ledger::walk(std::size_t node, std::size_t low, std::size_t high, std::size_t first,
                          std::size_t last) const {
  if (first > high || last < low) return kPlenty;
  if (first <= low && high <= last) return least_[node];
  const std::size_t middle = (low + high) / 2;
  return added_[node] + std::min(walk(2 * node, low, middle, first, last),
                                 walk(2 * node + 1, middle + 1, high, first, last));
}

void Ledger::change(std::size_t node, std::size_t low, std::size_t high, std::size_t first, std::size_t last,
                    std::int64_t bytes) {
  if (first > high || last < low) return;
  if (first <= low && high <= last) {
    least_[node] += bytes;
    added_[node] += bytes;
    return;
  }
  const std::size_t middle = (low + high) / 2;
  change(2 * node, low, middle, first, last, bytes);
  change(2 * node + 1, middle + 1, high, first, last, bytes);
  least_[node] = added_[node] + std::min(least_[2 * node], least_[2 * node + 1]);
}

std::size_t Ledger::find(std::size_t node, std::size_t low, std::size_t high, std::size_t first,
                         std::size_t last, std::int64_t bytes, std::int64_t above) const {
  const std::size_t nothing = std::numeric_limits<std::size_t>::max() - 1;
  if (first > high || last < low || least_[node] + above >= bytes) return nothing;
  if (low == high) return low;
  const std::size_t middle = (low + high) / 2;
  const std::size_t left = find(2 * node, low, middle, first, last, bytes, above + added_[node]);
  if (left != nothing) return left;
  return find(2 * node + 1, middle + 1, high, first, last, bytes, above + added_[node]);
}

Choice::Choice(const Problem& problem, const std::vector<Room>& rooms)
    : problem_(&problem), kept_(problem.intervals.size(), 0), gone_(problem.lanes.size(), 0) {
  for (const Room& room : rooms) ledgers_.emplace_back(room.free);
  for (const Interval& interval : problem.intervals) ++gone_[interval.lane];
  for (std::size_t i = 0; i < kept_.size(); ++i)
    if (problem.intervals[i].forced) keep(i);
}

bool Choice::fits(std::size_t interval) const {
  const Interval& item = problem_->intervals[interval];
  return ledgers_[item.room].least(item.first, item.last) >= static_cast<std::int64_t>(item.charge);
}

void Choice::keep(std::size_t interval) {
  FHERES_CHECK(!kept_[interval]);
  const Interval& item = problem_->intervals[interval];
  ledgers_[item.room].add(item.first, item.last, -static_cast<std::int64_t>(item.charge));
  kept_[interval] = 1;
  --gone_[item.lane];
}

void Choice::let_go(std::size_t interval) {
  FHERES_CHECK(kept_[interval]);
  const Interval& item = problem_->intervals[interval];
  ledgers_[item.room].add(item.first, item.last, static_cast<std::int64_t>(item.charge));
  kept_[interval] = 0;
  ++gone_[item.lane];
}

bool Choice::feasible() const {
  return std::all_of(ledgers_.begin(), ledgers_.end(), [&](const Ledger& ledger) {
    return problem_->stages == 0 || ledger.least(0, problem_->stages - 1) >= 0;
  });
}

void Choice::fill(const std::vector<std::size_t>& order) {
  for (const std::size_t i : order)
    if (!kept_[i] && fits(i)) keep(i);
}

void Choice::fill() { fill(by_value(*problem_)); }

Bytes Choice::price() const {
  Bytes sum = problem_->compulsory;
  for (std::size_t i = 0; i < kept_.size(); ++i)
    if (!kept_[i]) sum += problem_->intervals[i].price;
  for (std::size_t lane = 0; lane < gone_.size(); ++lane)
    if (gone_[lane] != 0) sum += problem_->lanes[lane].offload;
  return sum;
}

Bytes Choice::gain(std::size_t interval) const {
  const Interval& item = problem_->intervals[interval];
  const bool last = gone_[item.lane] == (kept_[interval] ? 0u : 1u);
  return item.price + (last ? problem_->lanes[item.lane].offload : 0);
}

std::vector<std::size_t> by_value(const Problem& problem) {
  std::vector<std::size_t> order(problem.intervals.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<double> value(order.size());
  for (const std::size_t i : order) {
    const Interval& item = problem.intervals[i];
    const Lane& lane = problem.lanes[item.lane];
    const double saved = static_cast<double>(item.price) +
                         static_cast<double>(lane.offload) / static_cast<double>(lane.intervals.size());
    value[i] = saved / (static_cast<double>(std::max<Bytes>(item.charge, 1)) *
                        static_cast<double>(item.last - item.first + 1));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return value[a] > value[b]; });
  return order;
}

}  // namespace fheres::compile
