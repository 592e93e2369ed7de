#include "bound.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace fheres::compile {
namespace {

__extension__ using Wide = __int128;

/// Sums of what may stay that are looked at for a row; with more of them nearly any sum is among them.
constexpr std::size_t kMostSums = 2'048;
/// Steps to those sums, over all rows.
constexpr std::size_t kSumSteps = 20'000'000;

/// The largest sum of some of these charges that is at most `room`, by charge and how many there are of it; `room` where
/// it takes too many sums or steps.
std::int64_t largest_sum(const std::map<std::int64_t, std::size_t>& charges, std::int64_t room,
                         std::size_t steps) {
  std::int64_t unit = 0, total = 0;
  for (const auto& [charge, count] : charges) {
    unit = std::gcd(unit, charge);
    total += charge * static_cast<std::int64_t>(count);
  }
  if (total <= room) return total;
  if (unit != 0) room -= room % unit;
  if (charges.size() == 1) return room;
  std::vector<std::int64_t> sums{0}, more;
  for (const auto& [charge, count] : charges) {
    for (std::size_t i = 0; i < count; ++i) {
      more.clear();
      for (const std::int64_t sum : sums)
        if (sum + charge <= room) more.push_back(sum + charge);
      const std::size_t before = sums.size();
      sums.insert(sums.end(), more.begin(), more.end());
      std::inplace_merge(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(before), sums.end());
      sums.erase(std::unique(sums.begin(), sums.end()), sums.end());
      if (sums.back() == room || sums.size() > kMostSums || sums.size() > steps) return room;
      steps -= sums.size();
      if (sums.size() == before) break;
    }
  }
  return sums.back();
}

}  // namespace

Bound::Bound(const Problem& problem) : problem_(problem) {
  const std::size_t none = std::numeric_limits<std::size_t>::max();
  std::vector<std::vector<std::size_t>> next_row(problem.rooms.size());  // the first row at or after a stage
  for (std::size_t room = 0; room < problem.rooms.size(); ++room) {
    std::vector<std::int64_t> demand(problem.stages + 1, 0);
    for (const Interval& item : problem.intervals) {
      if (item.room != room) continue;
      demand[item.first] += static_cast<std::int64_t>(item.least_charge);
      demand[item.last + 1] -= static_cast<std::int64_t>(item.least_charge);
    }
    std::vector<std::size_t>& next = next_row[room];
    next.assign(problem.stages + 1, none);
    std::int64_t sum = 0;
    for (std::size_t s = 0; s < problem.stages; ++s) {
      sum += demand[s];
      const std::int64_t missing = sum - problem.rooms[room].free[s];
      if (missing <= 0) continue;
      next[s] = rows_.size();
      rows_.push_back({room, s, missing});
    }
    next[problem.stages] = rows_.size();
    for (std::size_t s = problem.stages; s > 0; --s)
      if (next[s - 1] == none) next[s - 1] = next[s];
  }
  offload_.reserve(problem.lanes.size());
  for (std::size_t lane = 0; lane < problem.lanes.size(); ++lane) {
    offload_.push_back(static_cast<std::int64_t>(problem.lanes[lane].offload));
    for (const std::size_t i : problem.lanes[lane].intervals) {
      const Interval& item = problem.intervals[i];
      if (item.forced) continue;  // it counts among what could be kept, and cannot go
      const std::size_t first = next_row[item.room][item.first];
      const std::size_t end = next_row[item.room][item.last + 1];
      if (first >= end) continue;
      columns_.push_back({i, lane, first, end - 1, static_cast<std::int64_t>(item.least_charge),
                          static_cast<std::int64_t>(item.cost)});
    }
  }
  round_up();
}

void Bound::round_up() {
  std::vector<std::vector<std::size_t>> begins(rows_.size()), ends(rows_.size() + 1);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    begins[columns_[c].first_row].push_back(c);
    ends[columns_[c].last_row + 1].push_back(c);
  }
  std::map<std::int64_t, std::size_t> charges;
  std::int64_t total = 0;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (const std::size_t c : ends[r]) {
      const auto found = charges.find(columns_[c].charge);
      total -= found->first;
      if (--found->second == 0) charges.erase(found);
    }
    for (const std::size_t c : begins[r]) {
      ++charges[columns_[c].charge];
      total += columns_[c].charge;
    }
    // What may stay, where it is not already more than can be helped.
    const std::int64_t room = total - rows_[r].missing;
    if (room > 0) rows_[r].missing = total - largest_sum(charges, room, kSumSteps / rows_.size());
  }
}

Bytes Bound::at(const std::vector<std::int64_t>& prices, const std::vector<Fixed>& fixed) const {
  std::vector<Wide> before(rows_.size() + 1, 0);  // sums of prices
  Wide sum = 0;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const std::int64_t price = std::max<std::int64_t>(prices[r], 0);
    before[r + 1] = before[r] + price;
    sum += static_cast<Wide>(price) * rows_[r].missing;
  }
  for (std::size_t c = 0; c < columns_.size();) {
    const std::size_t lane = columns_[c].lane;
    Wide least = 0;  // of what goes, by choice and by decision
    bool goes = false;
    for (; c < columns_.size() && columns_[c].lane == lane; ++c) {
      const Column& column = columns_[c];
      const Wide price = before[column.last_row + 1] - before[column.first_row];
      const Wide value = static_cast<Wide>(column.cost) * kOne - price * column.charge;
      const Fixed state = fixed.empty() ? Fixed::open : fixed[c];
      if (state == Fixed::gone) goes = true;
      if (state == Fixed::gone || (state == Fixed::open && value < 0)) least += value;
    }
    const Wide once = static_cast<Wide>(offload_[lane]) * kOne;
    sum += goes ? once + least : std::min<Wide>(0, once + least);
  }
  if (sum < 0) sum = 0;
  const Wide bytes = (sum + kOne - 1) / kOne + static_cast<Wide>(problem_.compulsory);
  const Wide unit = static_cast<Wide>(problem_.unit);
  return static_cast<Bytes>((bytes + unit - 1) / unit * unit);
}

}  // namespace fheres::compile
