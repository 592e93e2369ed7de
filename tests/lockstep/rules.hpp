#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fheres/base/bytes.hpp>
#include <fheres/memory/arena.hpp>
#include <fheres/memory/location.hpp>
#include <fheres/residency/action.hpp>
#include <fheres/residency/copy_rules.hpp>
#include <fheres/residency/plan.hpp>
#include <fheres/residency/spec.hpp>

namespace fheres::lockstep {

using memory::Location;

/// What an allocation of so many bytes takes.
inline Bytes rounded(Bytes bytes) { return (bytes + kGranule - 1) / kGranule * kGranule; }
using residency::Action;
using residency::Plan;
using residency::ValueSpec;

/// What a rule says of one action in one state. Where `refusals` is not empty the action is refused with one of
/// these codes; which one wins is left open where several rules are broken.
struct Expectation {
  enum class Work { nothing, copy, load, expand, remove };
  std::set<std::string> refusals;
  Work work = Work::nothing;
  std::optional<Location> source;
  std::optional<Location> destination;
  std::optional<Location> removes;       // after install, or instead of it
  Bytes bytes = 0;                       // copied or loaded; expand: of its backing
  Bytes block = 0;                       // of what is installed
  bool has_piece = true;                 // whether the addresses allow what the bytes allow (R27)
  Bytes compacted = 0;                   // slid for it, in a forecast
  bool asynchronous = false;             // it leaves a copy arriving
  Bytes staging = 0;                     // charged at pinned-host meanwhile
  std::optional<std::uint64_t> backing;  // expand: whose copy at the source is read
  Bytes temporary = 0;                   // expand: charged at the destination meanwhile

  bool allowed() const { return refusals.empty(); }
};

struct RuleCopy {
  Bytes actual = 0;
  std::optional<Bytes> offset;  // in the location's arena, where it has one
  bool foreign = false;         // the block is of a region that is not the manager's
  unsigned use = 0;
  unsigned hold = 0;
  std::multiset<std::uint64_t> pending;  // tickets of released leases
  bool arriving = false;
  bool is_protected() const { return use + hold + pending.size() != 0; }
};

struct RuleValue {
  ValueSpec spec;
  std::map<Location, RuleCopy> copies;
  std::optional<Location> source;
  std::optional<std::uint64_t> backing;
  bool discarded = false;
  bool announced = false;  // no bytes yet
};

/// A copy on its way: one pending ticket at either end, and perhaps a staging block in between.
struct RuleArrival {
  std::uint64_t serial = 0;
  Location from = Location::pageable_host();
  Location at = Location::pageable_host();
  Bytes staging = 0;  // charged at pinned-host
  Bytes staged = 0;   // of the block there
  std::optional<Bytes> offset;
  std::uint64_t reads = 0;  // whose copy is read at `from`: its own, or its backing's
  Bytes temporary = 0;      // charged at `at`
  Bytes kept = 0;           // of the block there
  std::optional<Bytes> kept_offset;
};

struct RuleReservation {
  Location at = Location::pageable_host();
  std::string label;
  Bytes left = 0;    // charged as reserved
  Bytes carved = 0;  // of it, in blocks that are not adopted
  bool open = true;
  Bytes available() const { return left - carved; }
};

/// A block that nobody adopted yet.
struct RuleBlock {
  std::uint64_t reservation = 0;
  Location at = Location::pageable_host();
  Bytes bytes = 0;
  std::optional<Bytes> offset;
};

/// What a plan does to a state, by the rules alone (R39, R40).
struct Forecast {
  bool feasible = true;
  std::string where;  // of the first refusal: `enter 0`
  std::set<std::string> refusals;
  std::vector<Expectation> actions;  // up to and without the first refusal, in run-time order
  std::map<Location, Bytes> peaks;   // charged
  std::map<Location, Bytes> after;   // charged
};

/// The residency rules of design page 03, written a second time and naively: every figure is a sum over everything,
/// every question a loop. Slow, small, and independent of residency::State on purpose.
class Rules {
 public:
  Rules(residency::ManagerId manager, const std::map<Location, Bytes>& budgets, int devices,
        residency::CopyRules copies);

  // What is there.
  const std::vector<RuleValue>& values() const { return values_; }
  const std::map<std::uint64_t, RuleReservation>& reservations() const { return reservations_; }
  const std::map<std::uint64_t, RuleBlock>& blocks() const { return blocks_; }
  const std::map<std::uint64_t, RuleArrival>& arrivals() const { return arrivals_; }
  std::optional<Bytes> budget(Location at) const;
  bool present(Location at) const { return at.is_host() || at.device() < devices_; }
  bool handle_is_good(std::uint64_t serial) const;
  bool resident(std::uint64_t serial, Location at) const;
  Bytes used(Location at) const;
  Bytes reserved(Location at) const;
  Bytes charged(Location at) const { return used(at) + reserved(at); }
  Bytes peak_used(Location at) const;
  Bytes peak_charged(Location at) const;
  /// Bytes in the blocks of the manager's own region.
  Bytes allocated(Location at) const;
  /// In one piece, after sliding what may slide where that is needed (R27).
  bool has_piece(Location at, Bytes bytes) const;
  Bytes largest_free(Location at) const;
  Bytes compacted(Location at) const;
  bool admits(Location at, Bytes bytes) const;
  /// Ownership, placement, reservations and protections, for R48.
  std::vector<std::uint64_t> fingerprint() const;
  bool any_token() const;

  // Actions.
  Expectation judge(const Action& action) const;
  /// `actual` bytes of what was installed. Returns how many bytes slid for it.
  Bytes carry_out(const Action& action, const Expectation& expected, Bytes actual);
  /// R23: arrivals that the action would take an end from.
  std::vector<std::uint64_t> arrivals_in_the_way(const Action& action) const;
  void settle(std::uint64_t arrival);
  std::optional<std::uint64_t> arrival_at(const residency::ValuePlace& place) const;
  /// Of the newest arrival.
  std::uint64_t last_arrival() const { return next_arrival_ - 1; }
  /// Charged and given up again: only the peaks of accounts that existed remember it (R20).
  void attempt(const Action& action, const Expectation& expected);
  Forecast forecast(const Plan& plan) const;
  Forecast forecast(const std::vector<Action>& actions) const;

  // Values.
  void adopt_foreign(const ValueSpec& spec, Location at, Bytes actual,
                     std::optional<std::uint64_t> reservation);
  void adopt_block(const ValueSpec& spec, std::uint64_t block);
  void announce(const ValueSpec& spec);
  void adopt_announced(std::uint64_t serial, std::uint64_t block);
  /// Whether the production can be paid by this reservation.
  bool can_produce(const residency::Production& production, std::uint64_t reservation) const;
  void register_source(const ValueSpec& spec, Location source);
  void register_backed(const ValueSpec& spec, std::uint64_t backing);

  // Tokens.
  void protect(std::uint64_t serial, Location at, bool as_hold, int by);
  void to_pending(std::uint64_t serial, Location at, std::uint64_t ticket);
  void finish(std::uint64_t ticket);
  bool is_pending(std::uint64_t ticket) const;
  void reserve(std::uint64_t key, Location at, Bytes bytes, const std::string& label);
  void release(std::uint64_t key);
  void carve(std::uint64_t block, std::uint64_t reservation, Bytes bytes);
  void free_block(std::uint64_t block);

  /// Sets every peak to what is charged now: the peaks of a scope.
  void restart_peaks();

  // Addresses, after something of which the rules do not know how far it came.
  void readdress(std::uint64_t serial, Location at, std::optional<Bytes> offset);
  void readdress_arrival(std::uint64_t serial, Location at, std::optional<Bytes> offset);
  void readdress_staging(std::uint64_t arrival, Bytes offset);
  /// Takes the location's arena from the addresses. False where two blocks overlap.
  bool rebuild_arena(Location at);
  void set_compacted(Location at, Bytes bytes) { compacted_[at] = bytes; }

 private:
  struct Peak {
    Bytes used = 0;
    Bytes charged = 0;
  };
  struct Sliding {  // one block of a location
    Bytes offset = 0, size = 0;
    bool slides = false;
    Bytes* home = nullptr;  // where its offset is kept
  };
  std::vector<Sliding> blocks_at(Location at);
  std::optional<Bytes> slide(Location at, Bytes bytes);
  std::optional<Bytes> take(Location at, Bytes bytes, bool arrives = false);
  void give_back(Location at, const std::optional<Bytes>& offset, Bytes bytes);
  void note(Location at, Bytes more_used, Bytes more_reserved);
  void remove(std::uint64_t serial, Location at);
  void judge_install(Expectation& expected, const RuleValue& value, Location at, std::optional<Location> from,
                     bool is_move) const;
  std::optional<Location> source_of(const RuleValue& value, Location to) const;
  bool is_staged(std::optional<Location> from, Location to) const;
  bool must_stay(std::uint64_t serial) const;
  bool is_needed(std::uint64_t serial) const;
  bool judge_expansion(Expectation& expected, const RuleValue& value, Location at,
                       std::optional<Location> from, bool is_move) const;
  bool has_pieces(Location at, Bytes first, Bytes second, bool arrive) const;
  std::optional<Bytes> take_beside(Location at, const std::optional<Bytes>& first, Bytes first_bytes,
                                   Bytes bytes, bool arrives);
  Expectation judge_move(const RuleValue& value, const residency::Move& move) const;
  void install_block(RuleValue& value, std::uint64_t block);
  void produce(const Plan& plan, std::uint64_t first_key, Forecast& into);
  void run_phase(const std::vector<Action>& actions, const std::string& phase, Forecast& into);

  residency::ManagerId manager_;
  int devices_;
  residency::CopyRules copies_;
  std::map<Location, Bytes> budgets_;
  std::map<Location, memory::Arena> arenas_;  // budgeted pinned and cuda
  std::vector<RuleValue> values_;
  std::map<std::uint64_t, RuleReservation> reservations_;
  std::map<std::uint64_t, RuleBlock> blocks_;
  std::map<std::uint64_t, RuleArrival> arrivals_;
  std::uint64_t next_arrival_ = std::uint64_t{1} << 50;  // apart from the tickets of leases
  std::map<Location, Peak> peaks_;
  std::map<Location, Bytes> compacted_;
};

/// The code of a broken rule.
inline constexpr const char* kHandle = "residency/handle";
inline constexpr const char* kUnavailable = "residency/unavailable";
inline constexpr const char* kBudget = "residency/budget";
inline constexpr const char* kInUse = "residency/in-use";
inline constexpr const char* kOwnership = "residency/ownership";
inline constexpr const char* kMaterialization = "residency/materialization";
inline constexpr const char* kArgument = "invalid-argument";
inline constexpr const char* kAllocation = "memory/allocation";
inline constexpr const char* kDevice = "memory/device";

}  // namespace fheres::lockstep
