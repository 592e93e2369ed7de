#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <fheres/control/policy.hpp>
#include <fheres/control/request.hpp>
#include <fheres/residency/state.hpp>

namespace fheres::control::testing {

/// A small state and a request as plain numbers, with the residency rules that a plan meets written a second time:
/// nothing of State's transitions, nothing of the planner. For brute force, so a position is one integer.
class Board {
 public:
  /// Which places each value is at, four bits a value, and whether the reservations are admitted.
  using Position = std::uint64_t;
  static constexpr Position kReserved = Position{1} << 63;
  static constexpr std::size_t kPlaces = 4;
  static constexpr std::size_t kValues = 15;

  struct Value {
    Bytes charge = 0, copied = 0, loaded = 0;
    bool exclusive = false, preserve = false;
    std::optional<std::size_t> source{};
    unsigned guarded = 0;  // places, as bits: protected there
    unsigned wanted = 0;   // by the request
  };
  struct Place {
    memory::Location at = memory::Location::pageable_host();
    std::optional<Bytes> budget{};
    bool has_account = false;
    Bytes reserved = 0;  // by others
    Bytes asked = 0;     // by the request's reservations
    std::vector<std::size_t> tiers{};
  };
  struct Move {
    enum class Kind { drop, offload, reserve, place } kind = Kind::reserve;
    std::size_t value = 0, at = 0, to = 0;  // at: what it leaves, or where it comes; to: of an offload
    friend bool operator==(const Move&, const Move&) = default;
  };
  /// What a move leads to, or where room is lacking, or neither where it is impossible for another reason.
  struct Result {
    std::optional<Position> next{};
    Bytes moved = 0;
    std::optional<std::size_t> lacking{};
  };

  Board(const residency::State& state, const Request& request, const Policy& policy);

  Position start() const { return start_; }
  const std::vector<Value>& values() const { return values_; }
  const std::vector<Place>& places() const { return places_; }
  const std::vector<Move>& endpoints() const { return endpoints_; }  // placements, in the request's order
  bool staged() const { return staged_; }  // some copy between devices goes through pinned-host

  static unsigned mask(Position position, std::size_t value) { return (position >> (4 * value)) & 0xFu; }
  Result make(Position position, const Move& move) const;
  bool served(Position position) const;
  /// Every move that leads somewhere, whoever thinks it useful.
  void each(Position position, const std::function<void(Position next, Bytes moved)>& found) const;
  residency::Action action_of(Position position, const Move& move) const;

 private:
  std::optional<std::size_t> place_of(memory::Location at) const;
  bool fits(Position position, std::size_t place, Bytes bytes) const;
  bool needs_staging(std::size_t from, std::size_t to) const;
  std::size_t source_for(unsigned mask, std::size_t to) const;
  Result install(Position position, std::size_t value, std::size_t to, std::optional<std::size_t> from,
                 bool leaves) const;

  residency::ManagerId manager_;
  residency::CopyRules copies_;
  std::vector<Value> values_;
  std::vector<Place> places_;
  std::vector<Move> endpoints_;
  std::vector<std::pair<std::size_t, Bytes>> reservations_;  // of the request: where, how much
  Position start_ = 0;
  bool staged_ = false;
};

/// Every position that any sequence of legal moves reaches, in the order of bytes moved.
struct BruteForce {
  std::optional<Bytes> least;  // moved by the cheapest sequence that serves the request; nothing: none does
  std::size_t positions = 0;
  bool gave_up = false;  // more positions than `limit`
};
BruteForce brute_force(const Board& board, std::size_t limit);

}  // namespace fheres::control::testing
