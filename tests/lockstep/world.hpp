#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fheres/memory/emulated.hpp>
#include <fheres/residency/manager.hpp>

#include "lockstep/outcome.hpp"
#include "lockstep/rules.hpp"
#include "support/faulty_driver.hpp"
#include "support/random.hpp"

namespace fheres::lockstep {

/// The public operations that a sequence draws from, and what happens on the machine meanwhile.
enum class Kind {
  adopt,
  adopt_from_reservation,
  register_source,
  register_backed,
  ensure,
  prefetch,
  settle,
  move,
  drop,
  discard,
  acquire,
  add_stream,
  read,
  release_lease,
  hold,
  release_hold,
  reserve,
  release_reservation,
  allocate,
  carve,
  adopt_block,
  free_block,
  explain,
  execute,
  open_scope,
  close_scope,
  abandon_scope,
  run_scope,
  announce,
  clear_trace,
  refused_close,
  step,
};
inline constexpr std::size_t kKinds = 32;
const char* name(Kind kind);
/// `move v3 cuda:0 from pinned-host`.
std::string text_of(const Action& action);

/// One operation of a sequence. Its arguments are drawn from its seed and from what is there when it runs, so that it
/// means something in every sequence: that is what lets a failing sequence shrink.
struct Operation {
  Kind kind = Kind::step;
  std::uint64_t seed = 0;
};

/// Whether the world of this seed is crowded: one location with a small budget gets most of what happens, in values of
/// all sizes, so that its free bytes are often in pieces (R27).
inline bool is_crowded(std::uint64_t seed) { return seed % 5 < 3; }

/// A manager on a stepped machine, a State and the rules, all fed the same operations. run() throws Mismatch as soon
/// as two of them disagree.
class World {
 public:
  World(std::uint64_t seed, bool keep_log);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void run(const Operation& operation);
  /// Ends everything in one of three ways: orderly, by force, or with tokens that outlive their manager.
  void finish();

  /// How often each kind had an effect, and how often it was refused.
  struct Count {
    std::uint64_t done = 0, refused = 0, failed = 0;
  };
  const std::map<Kind, Count>& counts() const { return counts_; }
  /// How many expansions of each sort there were (R66).
  struct Expansions {
    std::uint64_t in_place = 0, copied = 0, staged = 0, asynchronous = 0, instead_of_copy = 0, failed = 0;
  };
  const Expansions& expansions() const { return expanded_; }
  /// Operations for which the manager slid blocks.
  std::uint64_t compactions() const { return compactions_; }
  const std::vector<std::string>& log() const { return log_; }

 private:
  using Random = test::Random;
  struct LiveLease {
    residency::Lease lease;
    Location at;
    std::vector<std::uint64_t> serials;
    std::vector<std::size_t> streams;
  };
  struct LiveHold {
    residency::Hold hold;
    Location at;
    std::vector<std::uint64_t> serials;
  };
  struct LiveReservation {
    residency::Reservation reservation;
    std::uint64_t key = 0;
  };
  struct LiveBlock {
    residency::Allocation block;
    std::uint64_t key = 0;
  };
  struct LiveScope {
    residency::Scope scope;
    Plan plan;
    std::vector<std::uint64_t> keys;  // of its reservations
  };
  struct Ticket {  // a released lease: complete when each stream has come so far
    std::vector<std::pair<std::size_t, std::uint64_t>> positions;
    std::vector<std::uint64_t> serials;
    Location at;
  };
  struct Position {  // of an event: complete when the stream has come so far
    memory::Stream stream;
    std::uint64_t executed = 0;
  };
  /// What a value's source does when it is next called.
  struct SourceState {
    enum class Next { good, throws, wrong_type, too_large, too_small, wrong_place };
    Next next = Next::good;
    Bytes actual = 0;
    std::uint64_t content = 0;
    bool called = false;
  };
  /// What a value's expansion does when it is next called.
  struct ExpandState {
    enum class Next { good, throws, throws_late };
    Next next = Next::good;
    std::uint64_t content = 0;
    std::uint64_t backing_content = 0;
  };
  struct Stepped {  // a stream that consumers use
    memory::Stream stream;
    Location device;
  };

  // world.cpp
  void dispatch(Kind kind, Random& random);
  void arm(Random& random);
  bool fault_hit() const;
  void say(const std::string& line);
  [[noreturn]] void mismatch(const std::string& what) const;
  void expect(bool holds, const std::string& what) const;
  void count(Kind kind, const Outcome& outcome);
  /// Whether the outcome is the expected refusal; where none is expected, whether it is a failure that `failures` or
  /// an injected fault explain. True where the operation must be done in the rules too.
  bool settle(const Outcome& outcome, const std::set<std::string>& refusals,
              const std::set<std::string>& failures);
  void finish_orderly(Random& random);
  void finish_by_force();
  void outlive(Random& random);
  void release_everything(Random& random);

  // world_draws.cpp
  Location draw_home(Random& random) const;
  Location draw_location(Random& random) const;
  std::optional<std::uint64_t> draw_serial(Random& random) const;
  residency::HandleId draw_handle(Random& random) const;
  std::optional<std::uint64_t> draw_traffic(Random& random, Kind kind) const;
  Action draw_action(Random& random) const;
  Action draw_action(Random& random, Kind kind) const;
  std::vector<Action> draw_actions(Random& random, std::size_t most, Rules& state, bool sensible,
                                   std::optional<Kind> only = {}) const;
  Plan draw_plan(Random& random) const;
  ValueSpec draw_spec(Random& random) const;
  std::optional<std::size_t> draw_stream(Random& random, Location device) const;
  residency::TransferStreams draw_streams(Random& random, bool& wrong) const;
  Location draw_resident_place(Random& random) const;

  // world_values.cpp
  void adopt(Random& random);
  void adopt_from_reservation(Random& random);
  void register_source(Random& random);
  void announce(Random& random);
  void transition(Random& random, Kind kind);
  void settle_arrival(Random& random);
  void settle_in_the_way(const Action& action);
  bool is_under_way(std::uint64_t arrival) const;
  void note_arrival(const Expectation& expected, Bytes actual);
  void note_staging(const Expectation& expected, Bytes actual);
  void load_values_badly(Random& random);
  residency::Loaded load(SourceState& state, residency::LoadContext& context);
  void probe_reentrancy();
  std::set<std::string> failures_of(const Action& action, const Expectation& expected) const;
  bool sources_are_good() const;
  Bytes actual_of(const Action& action, const Expectation& expected) const;
  void check_report(const Action& action, const Expectation& expected,
                    const residency::TransitionReport& report) const;
  void carry_out(const Action& action, const Expectation& expected,
                 const residency::TransitionReport& report);
  void give_up(const Action& action, const Expectation& expected);
  void new_value(std::uint64_t content, residency::HandleId handle);
  memory::Block foreign_block(Location at, Bytes bytes);
  bool has_pattern_of(std::uint64_t serial, const residency::BlockView& view) const;

  // world_backing.cpp
  void register_backed(Random& random);
  std::optional<std::uint64_t> draw_backing(Random& random) const;
  std::optional<std::uint64_t> draw_backed(Random& random) const;
  void expand(const ExpandState& state, const residency::BlockView& from, const residency::ExpandTarget& to,
              const memory::Stream& stream);
  void expand_values_badly(Random& random);
  void count_expansion(const Action& action, const Expectation& expected, bool done);
  void failures_of_expansion(const ExpandState& state, const Expectation& expected,
                             std::set<std::string>& failures) const;
  void check_expansions(const residency::ValueSnapshot& seen) const;

  // world_tokens.cpp
  void acquire(Random& random);
  void add_stream(Random& random);
  void read(Random& random);
  void release_lease(Random& random);
  enum class Ending { release, wait, destroy };
  void end_lease(LiveLease& live, Ending how);
  void hold(Random& random);
  void release_hold(Random& random);
  void reserve(Random& random);
  void release_reservation(Random& random);
  void allocate(Random& random);
  void carve(Random& random);
  void adopt_block(Random& random);
  void free_block(Random& random);
  void produce(residency::Scope& scope, const Plan& plan);
  void consume(const Plan& plan);
  std::optional<std::uint64_t> draw_announced(Random& random) const;
  void release_in_rules(std::uint64_t key);
  void free_in_rules(std::uint64_t key);
  void finish_tickets();
  /// Ends what is complete; of a manager whose arrivals have to be settled only with `all`.
  void finish_arrivals(bool all = false);
  void end_arrival(std::uint64_t arrival);
  void settle_reads(const Plan& plan);
  std::vector<residency::HandleId> draw_tokens(Random& random, Location at, std::set<std::string>& refusals);
  struct OpenReservation {
    residency::Reservation* reservation;
    std::uint64_t key;
  };
  std::optional<OpenReservation> draw_reservation(Random& random);

  // world_plans.cpp
  void explain(Random& random);
  void execute(Random& random);
  void open_scope(Random& random);
  void close_scope(Random& random);
  void abandon_scope(Random& random);
  void run_scope(Random& random);
  void refused_close();
  void check_explanation(const residency::Explanation& explanation, const Forecast& forecast,
                         const std::vector<Action>& actions) const;
  void check_peaks(const residency::Explanation& explanation, const residency::PlanReport& report) const;
  bool follow(const std::vector<Action>& actions, residency::Phase phase, const residency::PlanReport& report,
              const Outcome& outcome);
  bool follow_entry(const Plan& plan, const residency::PlanReport& report, const Outcome& outcome,
                    std::vector<std::uint64_t>& keys);
  void end_scope(LiveScope& live, const Outcome& outcome);
  std::optional<std::uint64_t> draw_version(Random& random, bool& stale) const;

  // world_check.cpp
  void check();
  void check_values(const residency::Snapshot& snapshot) const;
  void check_locations(const residency::Snapshot& snapshot) const;
  void note_compaction(const residency::Snapshot& snapshot);
  void check_shadow(const residency::Snapshot& snapshot) const;
  void check_version(std::uint64_t version);
  void check_trace() const;
  void check_addresses(const residency::Snapshot& snapshot);
  void check_all_contents();

  std::uint64_t seed_;
  bool keep_log_;
  std::vector<std::string> log_;
  std::map<Kind, Count> counts_;
  Expansions expanded_;
  std::uint64_t compactions_ = 0;
  Bytes compacted_ = 0;  // by the manager, so far

  int devices_ = 2;
  bool uniform_ = true;            // one size of value, so that addresses rarely decide
  std::optional<Location> crowd_;  // of a crowded world
  bool faults_ = false;
  std::size_t trace_capacity_ = 4096;
  bool by_rule_ = false;  // an arrival ends when it is settled, not when it is complete
  std::map<Location, Bytes> budgets_;
  residency::CopyRules copies_;
  std::vector<Location> places_;

  std::shared_ptr<memory::SteppedDriver> machine_;
  std::shared_ptr<test::FaultyDriver> driver_;
  std::map<Location, std::shared_ptr<memory::Region>> foreign_;
  std::vector<Stepped> streams_;
  std::vector<std::string> warnings_;
  std::optional<residency::Manager> manager_;
  std::optional<Rules> rules_;
  std::optional<residency::State> shadow_;
  std::map<std::uint64_t, residency::ReservationId> shadow_reservations_;

  std::vector<std::uint64_t> contents_;  // of each value, by serial
  std::map<std::uint64_t, std::shared_ptr<SourceState>> sources_;
  std::map<std::uint64_t, std::shared_ptr<ExpandState>> expansions_;
  std::list<LiveLease> leases_;
  std::list<LiveHold> holds_;
  std::list<LiveReservation> reservations_;
  std::list<LiveBlock> blocks_;
  std::list<LiveScope> scopes_;
  std::map<std::uint64_t, Ticket> tickets_;
  std::map<std::uint64_t, Position> arrivals_;  // by their keys in the rules
  std::vector<Position> records_;               // of this operation, in order
  bool body_reads_ = false;                     // events of a body's leases are no copy's
  std::size_t used_records_ = 0;
  /// Where an asynchronous copy was staged, or the backing of what arrives was copied to: in the middle of a plan such a
  /// charge ends when the machine gets there, so that peaks there are only bounded from then on.
  std::set<Location> open_charges_;
  std::vector<const std::byte*> outs_;  // what this operation copied from devices to pinned-host, in order
  std::size_t used_outs_ = 0;
  const std::byte* pinned_region_ = nullptr;
  bool several_ = false;  // actions in this operation, between which the machine goes on
  std::shared_ptr<std::vector<std::string>> late_readers_ = std::make_shared<std::vector<std::string>>();

  struct Produced {
    std::uint64_t serial;
    std::size_t reservation;
    Bytes bytes;
  };
  std::vector<Produced> produced_;      // by the body that runs
  std::vector<Ticket> consumed_;        // leases of the body that runs, released
  std::vector<memory::Block> staging_;  // what sources copy from

  std::uint64_t next_key_ = 1;
  std::uint64_t next_content_ = 1;
  std::uint64_t completed_ = 0;  // transitions since the trace was cleared
  std::uint64_t failures_before_ = 0;
  bool fault_armed_ = false;
  bool source_misbehaved_ = false;
  bool warning_expected_ = false;
  bool version_may_grow_ = false;
  /// The rules do not know how far a compaction came: something failed, or consumers ended between two actions.
  bool addresses_unknown_ = false;
  Kind kind_ = Kind::step;
  std::string doing_;
  std::vector<std::uint64_t> last_fingerprint_;
  std::uint64_t last_version_ = 0;
  std::function<void()> during_load_;
  residency::ManagerId rules_manager_;
};

}  // namespace fheres::lockstep
