#include "bound.hpp"

#include <algorithm>
#include <limits>

namespace fheres::compile {
namespace {

__extension__ using Wide = __int128;

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

std::vector<double> Bound::shares(const std::vector<std::int64_t>& prices,
                                  const std::vector<Fixed>& fixed) const {
  std::vector<Wide> before(rows_.size() + 1, 0);
  for (std::size_t r = 0; r < rows_.size(); ++r) before[r + 1] = before[r] + prices[r];
  std::vector<double> shares;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    const Wide room = (before[column.last_row + 1] - before[column.first_row]) * column.charge;
    const Wide cost = static_cast<Wide>(column.cost + share_of_offload(column)) * kOne;
    const Fixed state = fixed.empty() ? Fixed::open : fixed[c];
    // Prices are whole numbers: what differs by less than a millionth is the same.
    const Wide near = cost >> 20;
    double share = room > cost + near ? 1 : room + near < cost ? 0 : 0.5;
    if (state != Fixed::open) share = state == Fixed::gone ? 1 : 0;
    shares.push_back(share);
  }
  return shares;
}

// An equal part of a lane's offload for each of its intervals: that is a bound as well.
std::int64_t Bound::share_of_offload(const Column& column) const {
  return offload_[column.lane] / static_cast<std::int64_t>(problem_.lanes[column.lane].intervals.size());
}

std::vector<std::int64_t> Bound::ascend(int rounds, std::vector<std::int64_t> prices,
                                        const std::vector<Fixed>& fixed) const {
  prices.resize(rows_.size(), 0);
  // Columns by the rows in which they are: a row looks at those that span it.
  std::vector<std::vector<std::size_t>> starts(rows_.size()), ends(rows_.size());
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    starts[columns_[c].first_row].push_back(c);
    ends[columns_[c].last_row].push_back(c);
  }
  std::vector<Wide> left(columns_.size());  // cost - priced room, in 1 / kOne bytes
  std::vector<std::size_t> active, where(columns_.size());
  for (int round = 0; round < rounds; ++round) {
    const bool forward = round % 2 == 0;
    std::vector<Wide> before(rows_.size() + 1, 0);
    for (std::size_t r = 0; r < rows_.size(); ++r) before[r + 1] = before[r] + prices[r];
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const Column& column = columns_[c];
      left[c] = static_cast<Wide>(column.cost + share_of_offload(column)) * kOne -
                (before[column.last_row + 1] - before[column.first_row]) * column.charge;
    }
    active.clear();
    bool changed = false;
    for (std::size_t step = 0; step < rows_.size(); ++step) {
      const std::size_t r = forward ? step : rows_.size() - 1 - step;
      for (const std::size_t c : forward ? starts[r] : ends[r]) {
        where[c] = active.size();
        active.push_back(c);
      }
      // The bound as a function of this price is concave and made of straight pieces: its slope falls by a column's
      // charge where the column would rather go. The best price is where the slope passes zero.
      std::vector<std::pair<Wide, std::int64_t>> bends;
      for (const std::size_t c : active) {
        const Fixed state = fixed.empty() ? Fixed::open : fixed[c];
        if (state == Fixed::kept) continue;
        const Wide at = state == Fixed::gone ? 0
                                             : (left[c] + static_cast<Wide>(prices[r]) * columns_[c].charge) /
                                                   std::max<std::int64_t>(columns_[c].charge, 1);
        bends.push_back({std::max<Wide>(at, 0), columns_[c].charge});
      }
      std::sort(bends.begin(), bends.end());
      std::int64_t slope = rows_[r].missing;
      Wide best = 0;
      for (const auto& [at, charge] : bends) {
        slope -= charge;
        best = at;
        if (slope <= 0) break;
      }
      const auto price = static_cast<std::int64_t>(std::min<Wide>(best, kOne * Wide{64}));
      if (price != prices[r]) {
        changed = true;
        for (const std::size_t c : active)
          left[c] -= static_cast<Wide>(price - prices[r]) * columns_[c].charge;
        prices[r] = price;
      }
      for (const std::size_t c : forward ? ends[r] : starts[r]) {
        const std::size_t hole = where[c];
        active[hole] = active.back();
        where[active[hole]] = hole;
        active.pop_back();
      }
    }
    if (!changed) break;
  }
  return prices;
}

}  // namespace fheres::compile
