#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "problem.hpp"

namespace fheres::compile {

/// What is free of one room in every stage, under additions to ranges of stages. Each call takes O(log stages).
class Ledger {
 public:
  explicit Ledger(const std::vector<std::int64_t>& free);
  void add(std::size_t first, std::size_t last, std::int64_t bytes);
  std::int64_t least(std::size_t first, std::size_t last) const;
  /// The first stage of the range with less than `bytes`, or `last + 1`.
  std::size_t first_below(std::size_t first, std::size_t last, std::int64_t bytes) const;

 private:
  std::int64_t walk(std::size_t node, std::size_t low, std::size_t high, std::size_t first,
                    std::size_t last) const;
  void change(std::size_t node, std::size_t low, std::size_t high, std::size_t first, std::size_t last,
              std::int64_t bytes);
  std::size_t find(std::size_t node, std::size_t low, std::size_t high, std::size_t first, std::size_t last,
                   std::int64_t bytes, std::int64_t above) const;

  std::size_t size_;
  std::vector<std::int64_t> least_;  // of the subtree, what is added to the whole of it included
  std::vector<std::int64_t> added_;
};

/// Which intervals are kept, and the room that is left then. `tight` holds less room than the problem has, where a
/// replay has shown that more is needed.
class Choice {
 public:
  /// Nothing is kept but what is forced.
  Choice(const Problem& problem, const std::vector<Room>& rooms);

  bool kept(std::size_t interval) const { return kept_[interval] != 0; }
  bool fits(std::size_t interval) const;
  void keep(std::size_t interval);
  void let_go(std::size_t interval);
  /// Whether no stage has less than nothing.
  bool feasible() const;
  /// Keeps whatever still fits, in this order, then everything else, most valuable for its room first.
  void fill(const std::vector<std::size_t>& order);
  void fill();

  /// What the plan is expected to move: what is compulsory, what is not kept, and the first offloads.
  Bytes price() const;
  /// By how much price falls when this interval is kept, as things stand.
  Bytes gain(std::size_t interval) const;
  const Ledger& ledger(std::size_t room) const { return ledgers_[room]; }
  const std::vector<char>& kept() const { return kept_; }

 private:
  const Problem* problem_;
  std::vector<Ledger> ledgers_;
  std::vector<char> kept_;
  std::vector<std::uint32_t> gone_;  // by lane: intervals that are not kept
};

/// All intervals that may go, the most bytes saved for a byte of room and a stage first; deterministic.
std::vector<std::size_t> by_value(const Problem& problem);

}  // namespace fheres::compile
