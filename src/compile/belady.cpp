#include "belady.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <set>
#include <tuple>

namespace fheres::compile {
namespace {

constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

/// The intervals of each room that begin in a stage.
std::vector<std::vector<std::vector<std::size_t>>> beginnings(const Problem& problem) {
  std::vector<std::vector<std::vector<std::size_t>>> lists(
      problem.rooms.size(), std::vector<std::vector<std::size_t>>(problem.stages));
  for (std::size_t i = 0; i < problem.intervals.size(); ++i)
    lists[problem.intervals[i].room][problem.intervals[i].first].push_back(i);
  return lists;
}

}  // namespace

Choice furthest_next_use(const Problem& problem, const std::vector<Room>& rooms) {
  Choice choice(problem, rooms);
  std::vector<std::size_t> gone;  // in the order in which they went
  const auto begins = beginnings(problem);
  for (std::size_t room = 0; room < rooms.size(); ++room) {
    // What is there and could go: the one that is needed last is first; among those that are never needed again, what
    // is free to go; then the larger.
    using Key = std::tuple<std::size_t, Bytes, Bytes, std::size_t>;
    std::set<Key, std::greater<>> there;
    std::vector<std::vector<std::size_t>> ends(problem.stages + 1);
    const auto key = [&](std::size_t i) {
      const Interval& item = problem.intervals[i];
      const Bytes dear = item.price + problem.lanes[item.lane].offload;
      const std::size_t next = item.tail && dear == 0 ? kNever : item.last;
      return Key{next, ~dear, item.charge, ~i};
    };
    std::int64_t used = 0;
    for (std::size_t s = 0; s < problem.stages; ++s) {
      for (const std::size_t i : ends[s])
        if (there.erase(key(i)) != 0) used -= static_cast<std::int64_t>(problem.intervals[i].charge);
      for (const std::size_t i : begins[room][s]) {
        if (choice.kept(i)) continue;  // forced
        there.insert(key(i));
        ends[problem.intervals[i].last + 1].push_back(i);
        used += static_cast<std::int64_t>(problem.intervals[i].charge);
      }
      const std::int64_t free = choice.ledger(room).least(s, s);
      while (used > free && !there.empty()) {
        const std::size_t i = ~std::get<3>(*there.begin());
        there.erase(there.begin());
        used -= static_cast<std::int64_t>(problem.intervals[i].charge);
        gone.push_back(i);
      }
    }
  }
  std::vector<char> went(problem.intervals.size(), 0);
  for (const std::size_t i : gone) went[i] = 1;
  for (std::size_t i = 0; i < went.size(); ++i)
    if (!went[i] && !choice.kept(i)) choice.keep(i);
  std::reverse(gone.begin(), gone.end());
  choice.fill(gone);
  return choice;
}

void improve(Choice& choice, const Problem& problem, std::size_t exchanges) {
  // Kept intervals of each room, by where they begin; an interval that lasts long is found from any stage that it spans
  // through its block of stages.
  const std::size_t block = 64;
  const std::size_t blocks = problem.stages / block + 1;
  std::vector<std::vector<std::size_t>> spanning(problem.rooms.size() * blocks);
  for (std::size_t i = 0; i < problem.intervals.size(); ++i) {
    const Interval& item = problem.intervals[i];
    for (std::size_t b = item.first / block; b <= item.last / block; ++b)
      spanning[item.room * blocks + b].push_back(i);
  }
  std::vector<std::size_t> wanted = by_value(problem);
  std::erase_if(wanted, [&](std::size_t i) { return choice.kept(i) || choice.gain(i) == 0; });
  std::size_t looked = 0;
  for (const std::size_t i : wanted) {
    if (choice.kept(i)) continue;
    if (looked++ >= exchanges) break;
    const Interval& item = problem.intervals[i];
    const Bytes gain = choice.gain(i);
    choice.keep(i);
    std::vector<std::size_t> out;
    Bytes paid = 0;
    for (std::size_t s = item.first; paid < gain;) {
      s = choice.ledger(item.room).first_below(s, item.last, 0);
      if (s > item.last) break;
      std::size_t best = kNever;
      double best_price = 0;
      for (const std::size_t other : spanning[item.room * blocks + s / block]) {
        const Interval& victim = problem.intervals[other];
        if (other == i || !choice.kept(other) || victim.forced || victim.first > s || victim.last < s)
          continue;
        const std::size_t overlap = std::min(victim.last, item.last) - s + 1;
        const double price =
            static_cast<double>(choice.gain(other)) /
            (static_cast<double>(std::min(victim.charge, item.charge)) * static_cast<double>(overlap));
        if (best != kNever && price >= best_price) continue;
        best = other;
        best_price = price;
      }
      if (best == kNever) {
        paid = gain;
        break;
      }
      paid += choice.gain(best);
      choice.let_go(best);
      out.push_back(best);
    }
    if (paid >= gain) {
      choice.let_go(i);
      for (const std::size_t other : out) choice.keep(other);
    } else {
      choice.fill(out);
    }
  }
  choice.fill();
}

}  // namespace fheres::compile
