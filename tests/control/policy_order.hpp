#pragma once

#include <optional>
#include <vector>

#include <fheres/control/metadata.hpp>

#include "board.hpp"

namespace fheres::control::testing {

/// What R58 and R59 promise, done naively on a board: the first sequence in policy order, and what is left of it once
/// no eviction can be spared. Written from the words in control/search.hpp; every question is answered by playing
/// the moves again from the start.
class PolicyOrder {
 public:
  using Move = Board::Move;
  using Line = std::vector<Move>;

  PolicyOrder(const Board& board, const residency::State& state, const ValueMetadata& metadata);

  /// The direct way, or nothing where it does not lead there.
  std::optional<Line> direct() const;
  /// The first way of all others. Nothing: there is none, or more than `limit` situations were opened.
  std::optional<Line> searched(std::size_t limit) const;
  /// Evictions before everything else where that serves, then those left out that can be, last first.
  Line tidied(const Line& line) const;
  /// The same for a line of the search, where offloads go to the earliest tier that serves.
  Line tidied_with_earlier_tiers(const Line& line) const;

 private:
  struct Walk;
  std::vector<std::size_t> victims(Board::Position now, std::size_t at, bool displace) const;
  bool requested(std::size_t value) const { return board_.values()[value].wanted != 0; }
  bool make_room(Walk& walk, std::size_t at) const;
  bool evict(Walk& walk, std::size_t value, std::size_t at) const;
  bool force(Walk& walk, const Move& move) const;
  Walk harmless() const;
  Line next(Board::Position now, const std::vector<std::size_t>& classes) const;
  std::vector<std::uint64_t> situation(Board::Position now, const std::vector<std::size_t>& classes) const;
  bool is_eviction(const Move& move) const {
    return move.kind == Move::Kind::drop || move.kind == Move::Kind::offload;
  }
  /// What is played of the line, without evictions of what is not there; nothing where it does not serve.
  std::optional<Line> played(const Line& line) const;
  bool shorten(Line& line) const;

  const Board& board_;
  std::vector<std::size_t> rank_;  // by value: policy order
};

}  // namespace fheres::control::testing
