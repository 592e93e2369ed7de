#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fheres/base/bit_set.hpp>
#include <fheres/residency/action.hpp>
#include <fheres/residency/layout.hpp>
#include <fheres/residency/plan.hpp>
#include <fheres/residency/state.hpp>

namespace fheres::residency {

/// What one action of a plan would do (R40).
struct ActionExplanation {
  Phase phase = Phase::execute;
  std::size_t index = 0;  // within its phase
  Action action{};
  bool executable = false;
  bool no_op = false;
  bool asynchronous = false;  // it leaves its destination arriving (R21)
  Bytes staged_bytes = 0;     // charged at pinned-host meanwhile: a staged copy between devices (R64)
  std::optional<HandleId> expanded_from{};  // its backing, for an expansion (R66)
  Bytes temporary_bytes =
      0;  // charged meanwhile: at a load's source, or for a copy of the backing at the destination
  bool settles = false;  // what it removes is an end of an arrival, which is waited for first (R23)
  std::optional<Location>
      source;  // resolved: read from (its backing, for an expansion), loaded at, or removed from
  std::optional<Location> destination;  // resolved: where it installs
  Bytes bytes = 0;       // copied (of its backing, for an expansion) or loaded; 0 for a no-op and a removal
  Bytes compacted = 0;   // slid inside locations to make one piece of room for it (R27)
  std::string reason{};  // why it is refused, not reached, or a no-op; empty otherwise
  std::optional<Refusal> refusal{};  // where State refused it
};

struct ReservationExplanation {
  std::size_t index = 0;
  ReservationSpec spec{};
  bool executable = false;
  std::string reason{};
  std::optional<Refusal> refusal{};
};

/// Something that occupies room at a location: a value's materialization or a reservation.
struct Holder {
  std::optional<HandleId> value{};  // none for a reservation
  std::string name{};               // the specification's name, or the reservation's label
  Bytes charged = 0;
  Protection protection{};
};

/// The predicted charges of one location over a plan.
struct LocationExplanation {
  Location at = Location::pageable_host();
  std::optional<Bytes> budget;
  Bytes charged_before = 0;  // used + reserved
  Bytes peak_charged = 0;    // the most that is charged at once, temporary charges included
  Bytes charged_after = 0;
  Bytes compacted = 0;  // slid inside the location, for actions and for the body's blocks (R27)
  /// What holds the room at the peak, or at the refusal where this location has no room; largest first, equal
  /// ones in order of registration. Filled in only where asked for (Detail).
  std::vector<Holder> holders;
  std::size_t more_holders = 0;  // that are not listed, each no larger than those that are
  Bytes more_bytes = 0;          // charged for them
};

inline constexpr std::size_t kMostHolders = 64;  // of a location, in Detail::budgeted

/// A plan's dry run: a fact about one state, nothing that was executed.
struct Explanation {
  std::string plan;
  std::uint64_t state_version = 0;
  std::vector<ActionExplanation> actions;  // in run-time order: reclaim, enter, prefetch, exit (or execute)
  std::vector<ReservationExplanation> reservations;
  std::vector<LocationExplanation> locations;  // every location with an account afterwards, in order
  bool feasible = true;
  std::string reason{};              // the first reason, with phase and index; empty where feasible
  std::optional<Refusal> refusal{};  // of that reason
  std::optional<Phase> phase;        // of that reason; none where what the body produces was refused

  const LocationExplanation* at(Location location) const;
  /// Bytes copied and loaded by all actions.
  Bytes moved_bytes() const;
  /// Bytes that slide inside locations; not part of moved_bytes.
  Bytes compacted_bytes() const;
};

/// How much to tell.
enum class Detail {
  brief,  // no holders
  full,   // with holders, which cost a second run
  // With holders where there is a budget, the largest kMostHolders of them: for long chains of plans over many values,
  // which would else tell of all values in every plan.
  budgeted,
};

/// The values that a chain of dry runs in Detail::budgeted found at a location last, largest first: the next one looks only
/// at what came and what went.
struct OrderedResidents {
  struct LargerFirst {
    bool operator()(const std::pair<Bytes, std::size_t>& a, const std::pair<Bytes, std::size_t>& b) const {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    }
  };
  BitSet serials;
  std::set<std::pair<Bytes, std::size_t>, LargerFirst> by_size;  // equal ones in order of registration
  Bytes charged = 0;                                             // for all of them
};
using HolderMemo = std::map<Location, OrderedResidents>;

/// An explanation and the state that the plan leaves; where the plan is infeasible, the state that its
/// executable prefix leaves. Feeds the next stage of a chain.
struct Simulation {
  Explanation explanation;
  State state;
  Layout layout{};
};

/// Runs the plan through State::begin and commit, in run-time order (R39, R40). Pure: no source runs and
/// nothing outside changes. The first refusal ends the run; what comes after it is reported as not reached.
/// std::invalid_argument for an empty plan name or reservation label, or
/// a prefetch that is no asynchronous ensure.
Simulation simulate(State state, const Plan& plan, Detail detail = Detail::full);
/// The same with addresses (R27): every block is placed as it would be at run time, compactions are predicted, and a
/// plan is refused where protected blocks prevent one. A load is taken to make one block of the logical bytes;
/// Plan::workspace says what is assumed of the body.
/// `memo` is of one chain of plans, where nothing but the plans changes the state.
Simulation simulate(State state, Layout layout, const Plan& plan, Detail detail = Detail::full,
                    HolderMemo* memo = nullptr);
Simulation simulate(State state, Layout layout, const std::string& name, std::span<const Action> actions,
                    Detail detail = Detail::full);
/// The same for one raw sequence, phase `execute` (R45).
Simulation simulate(State state, const std::string& name, std::span<const Action> actions,
                    Detail detail = Detail::full);

Explanation explain(const State& state, const Plan& plan, Detail detail = Detail::full);

/// For a plan that failed on its way: writes down who holds the room now, where there is a budget and no holder is told.
void tell_holders(const State& state, Explanation& told);

/// What is charged at `at` now, largest first, equal ones in order of registration.
std::vector<Holder> holders(const State& state, Location at);

}  // namespace fheres::residency
