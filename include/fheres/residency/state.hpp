#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fheres/base/bit_set.hpp>
#include <fheres/residency/action.hpp>
#include <fheres/residency/copy_rules.hpp>
#include <fheres/residency/errors.hpp>
#include <fheres/residency/plan.hpp>
#include <fheres/residency/spec.hpp>
#include <fheres/residency/value_record.hpp>

namespace fheres::residency {

/// Charges of one location (R25).
struct Account {
  Location at = Location::pageable_host();
  std::optional<Bytes> budget{};
  Bytes used = 0;
  Bytes reserved = 0;
  Bytes peak_used = 0;
  Bytes peak_charged = 0;
  std::optional<Bytes> remaining() const;
};

struct ReservationRecord {
  ReservationId id{};
  ReservationSpec spec{};  // bytes: what is still reserved (adoption out of it lowers them, R38)
};

/// Why an action, reservation or protection is not possible, with the numbers. Cheap to make; text
/// comes later.
struct Refusal {
  enum class Rule {
    foreign_handle,
    unknown_handle,
    discarded_handle,
    unavailable,
    budget,
    in_use,
    exclusive_elsewhere,
    last_copy,
    last_backing,    // the last copy of what live values are expanded from (R66)
    backing_gone,    // the last copy of a value whose backing is discarded (R66)
    needed_backing,  // a discard of the backing of values without a copy (R66)
    no_backing,      // registered on a backing that has no copy (R66)
    absent_location,
    closed_reservation,
    not_announced,
    pageable_end,
    host_expansion,  // an asynchronous expansion that would run on the host (R66)
    fragmented       // the bytes are there, but protected blocks keep them apart (R27); never State's own
  };
  Rule rule{};
  HandleId value{};
  Location at = Location::pageable_host();
  Protection counts{};  // in_use
  // budget: of the location, or of the reservation (as budget) where one has to pay.
  Bytes budget = 0, used = 0, reserved = 0, requested = 0;
  // fragmented: the same figures, and the most that sliding could bring together, and whose blocks prevent more.
  Bytes largest_free = 0;
  std::shared_ptr<const std::vector<std::string>> in_the_way{};
  // last_backing, needed_backing: how many values need it, and the first of them.
  std::size_t dependents = 0;
  HandleId dependent{};
};

/// A transition that has begun: what will be done, and what was charged for it. Made by State::begin, ended
/// by exactly one commit or abort of the same State.
struct Transition {
  enum class Work { nothing, copy, load, expand, remove };
  Action action;
  Work work = Work::nothing;
  std::string_view no_op_reason;  // for Work::nothing; static text
  /// copy: where it is read; load: where load() makes it; expand: where its backing is read, which may be the
  /// destination; remove: what goes.
  std::optional<Location> source;
  std::optional<Location> destination;
  bool removes_source = false;        // copy: after install; remove: the source and nothing else
  bool asynchronous = false;          // copy, expand: commit installs it as arriving (R21)
  std::optional<HandleId> backing{};  // expand: what from (R66)
  /// Copied (the source's actual bytes), loaded (logical bytes); expand: of the backing, 0 where it is at the
  /// destination already.
  Bytes bytes = 0;
  Bytes block_bytes = 0;  // of the block that is installed; a load may make a longer one
  Bytes charge = 0;       // of the destination, as used, from begin on (R15)
  /// As reserved, at temporary_at(). A load: its storage at its source for the time of load(); 0 where it loads
  /// at the destination, because one charge serves both (R16). An expansion: its backing's storage at the
  /// destination, until it is complete; 0 where the backing is there (R66).
  Bytes temporary = 0;
  Bytes staging = 0;  // at pinned-host, as reserved, for the time of a staged copy between two devices (R64)

  bool installs() const { return work == Work::copy || work == Work::load || work == Work::expand; }
  bool has_temporary() const { return (work == Work::load || work == Work::expand) && source != destination; }
  Location temporary_at() const { return work == Work::expand ? *destination : *source; }
};

/// The residency rules (design, page 03), once. A storage-free value: values with their places and
/// protections, accounts with their charges and peaks. The manager executes through it, explain simulates
/// through it, the controller searches over it. Copies are independent, and cheap: they share the values that
/// neither changes. Not thread safe.
///
/// Every function that can be refused returns the Refusal and then has changed nothing. Charges add up
/// without overflow: std::overflow_error where an unbudgeted location would hold 2^64 bytes or more.
class State {
 public:
  /// With `devices`, cuda locations from that index on are not there and are refused (R3); without, every
  /// location is there. std::invalid_argument for a budget at one that is not.
  State(ManagerId manager, const std::map<Location, Bytes>& budgets, std::optional<int> devices = {},
        CopyRules copies = {});

  ManagerId manager() const { return manager_; }
  const CopyRules& copies() const { return copies_; }
  /// Grows by one with each call that changes ownership, placement, reservations, protections or makes an
  /// account (R48); not by begin and abort, which change charges only.
  std::uint64_t version() const { return version_; }
  bool present(Location at) const { return !devices_ || at.is_host() || at.device() < *devices_; }

  // Values. std::invalid_argument for a bad specification; actual bytes are between its logical and storage
  // bytes.
  /// The value becomes must-preserve, whatever the specification says (R4).
  std::variant<HandleId, Refusal> adopt(const ValueSpec& spec, Location at, Bytes actual_bytes);
  /// Turns storage_bytes of the reservation, which must have them, into used bytes in one step (R38).
  /// std::invalid_argument where it is at another location.
  std::variant<HandleId, Refusal> adopt(const ValueSpec& spec, Location at, Bytes actual_bytes,
                                        ReservationId from);
  /// A must-preserve value that has a handle and no bytes yet: what a plan produces. Until it is adopted it is nowhere
  /// and nothing can bring it.
  HandleId announce(const ValueSpec& spec);
  /// Nothing when the handle is good and its value has no bytes yet.
  std::optional<Refusal> check_announced(HandleId value) const;
  /// Gives an announced value its bytes, paid for by the reservation as above. Once.
  std::optional<Refusal> adopt(HandleId announced, Location at, Bytes actual_bytes, ReservationId from);
  /// The specification must say reconstructible, and the location must be present: std::invalid_argument.
  HandleId register_source(const ValueSpec& spec, Location source);
  /// A value without bytes that can be expanded from `backing`, which must have a copy (R66). The specification
  /// must say reconstructible, and the backing must have none of its own: std::invalid_argument.
  std::variant<HandleId, Refusal> register_backed(const ValueSpec& spec, HandleId backing);
  /// Whether its last copy has to stay: it must be preserved, or backs a live value, or its backing is
  /// discarded (R11, R66). Does not depend on what is where.
  bool preserved(HandleId value) const { return last_copy_rule(values_[value.serial]).has_value(); }
  /// Nothing when the handle is good: of this manager, known, not discarded.
  std::optional<Refusal> check(HandleId value) const;
  /// The same, and materialized at `at`: what a protection needs.
  std::optional<Refusal> check_resident(HandleId value, Location at) const;
  const ValueRecord& record(HandleId value) const;     // of any known handle, discarded too
  std::size_t size() const { return values_.size(); }  // handles given out
  /// Of all values; index is the serial. Not of a copy_for copy.
  const SharedVector<ValueRecord>& records() const { return values_.all(); }
  HandleId handle(std::uint64_t serial) const { return {manager_, serial}; }
  // Serials of the values that are at a location, have a protected replica, or one that arrives: to be looked through
  // without looking at all values.
  const BitSet& residents(Location at) const;
  const BitSet& guarded() const { return guarded_; }
  const BitSet& arriving() const { return arriving_; }

  // Transitions (R9 to R17). Checked in this order: handle, locations present, explicit source resident (also
  // where the action then is a no-op), no-op, ownership, protection, budget (destination, then source).
  /// What begin would make or refuse, without charging anything.
  std::variant<Transition, Refusal> resolve(const Action& action) const;
  std::variant<Transition, Refusal> begin(const Action& action);
  /// `actual_bytes` of the installed block, where one was installed.
  void commit(const Transition& transition, Bytes actual_bytes);
  void abort(const Transition& transition);
  /// What arrives at these places has an end that the action would remove: a plan settles it first (R23). An
  /// end may be a replica of the backing (R66), so these may be places of other values. An ensure that is not
  /// asynchronous takes no end; it settles what is on its way to where it wants it, and so does nothing more.
  std::vector<ValuePlace> arrivals_in_the_way(const Action& action) const;
  /// Ends an arrival: the replica is like any other, and both ends lose their pending token (R23).
  void settle(HandleId value, Location at);
  /// begin and commit, with the transition's block_bytes as actual.
  std::variant<Transition, Refusal> apply(const Action& action);

  /// For searches: what apply of one ensure, move or drop of `value` that is not asynchronous can change.
  /// restore puts it back, peaks and version too; newest first, with no other change in between and no
  /// transition begun.
  struct Undo {
    HandleId value{};
    ValueRecord record{};
    std::vector<Account> accounts{};
    std::uint64_t version = 0;
  };
  Undo mark(HandleId value) const;
  void restore(Undo undo);

  /// A copy that knows only these values, their backings and dependents; serials stay, and nothing else may be asked of
  /// the others. Charges are copied as they are, so actions on these values go as they would here. Costs what the
  /// named values cost, however many there are.
  State copy_for(std::span<const HandleId> values) const;

  // Reservations.
  /// std::invalid_argument for an empty label.
  std::variant<ReservationId, Refusal> reserve(const ReservationSpec& spec);
  void release(ReservationId id);  // unknown or already released: nothing
  /// Changes what a reservation charges, under admission where it grows.
  std::optional<Refusal> resize(ReservationId id, Bytes bytes);
  const ReservationRecord* reservation(ReservationId id) const;  // null: unknown or released
  std::span<const ReservationRecord> reservations() const { return reservations_; }

  // Protections; counts never go below zero (R37).
  enum class Token { use, hold, pending };
  void protect(HandleId value, Location at, Token token);
  void unprotect(HandleId value, Location at, Token token);
  /// A lease's release: use becomes pending.
  void use_to_pending(HandleId value, Location at);

  // Accounts.
  const Account* account(Location at) const;
  std::span<const Account> accounts() const { return accounts_; }  // in location order
  /// used and reserved of every account, recounted from values and reservations. For tests and checks (R26).
  std::vector<Account> recount() const;

 private:
  struct Charge {  // of a transition that has begun
    Location at;
    Bytes used, reserved;
  };
  // What check finds nothing wrong with, at less cost.
  bool is_live(HandleId value) const {
    return value.manager == manager_ && value.serial < values_.size() && !values_[value.serial].discarded;
  }
  struct Residents {
    Location at;
    BitSet values;
  };
  /// After a change of the value's replicas: where it is counted.
  void count_replicas(std::uint64_t serial);
  void note_replicas(const ValueRecord& record, std::uint64_t serial);
  Account* find(Location at);
  std::optional<Refusal> admit(Location at, Bytes requested) const;
  void charge(Location at, Bytes used, Bytes reserved);
  void discharge(Location at, Bytes used, Bytes reserved);
  void establish(Location at);
  void end_charges(const Transition& transition, bool keep_destination);
  void drop_empty_provisional();
  HandleId add_value(const ValueSpec& spec, Recoverability recoverability);
  std::variant<std::size_t, Refusal> payer_of(const ValueSpec& spec, Location at, ReservationId from) const;
  void install_paid(HandleId value, Location at, Bytes actual_bytes, std::size_t payer);
  void install(HandleId value, Location at, Bytes actual_bytes);
  void remove(HandleId value, Location at);
  std::optional<Refusal> protected_at(HandleId value, const Materialization& where) const;
  const Materialization* source_of(const ValueRecord& record, Location to,
                                   std::optional<Location> from) const;
  const Materialization* backing_for(const ValueRecord& record, Location to) const;
  bool expands(const Transition& transition, std::optional<Location> from, const Materialization* source,
               const Materialization* backing) const;
  std::optional<Refusal::Rule> last_copy_rule(const ValueRecord& record) const;
  std::optional<Refusal> last_copy_refusal(HandleId value, Location at) const;
  std::variant<Transition, Refusal> resolve_install(Transition transition,
                                                    std::optional<Location> from) const;
  std::optional<Refusal> arrival_refusal(HandleId value, const Materialization* source, Location to) const;
  std::optional<Refusal> expansion_refusal(HandleId value, const Materialization& backing, Location to) const;
  std::optional<Refusal> needed_backing(HandleId value) const;
  std::optional<Refusal> admit(const Transition& transition) const;
  std::variant<Transition, Refusal> resolve_drop(const Drop& action) const;
  std::variant<Transition, Refusal> resolve_discard(const Discard& action) const;

  ManagerId manager_;
  std::optional<int> devices_;
  CopyRules copies_;
  std::uint64_t version_ = 1;
  ValueTable values_;
  std::vector<Residents> residents_;  // of each location that ever had a value
  BitSet guarded_, arriving_;
  std::vector<Account> accounts_;
  std::vector<ReservationRecord> reservations_;
  std::uint64_t next_reservation_ = 1;
  std::vector<Charge> begun_;          // so that a recount can see them
  std::vector<Location> provisional_;  // accounts that only a begun transition has (R2)
};

/// The text of a refusal (one lower-case line), and the exception of its rule.
std::string describe(const Refusal& refusal, const State& state);
[[noreturn]] void raise(const Refusal& refusal, const State& state);

}  // namespace fheres::residency
