#include <stdexcept>

#include <doctest/doctest.h>

#include <fheres/residency/state.hpp>

#include "residency/world.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;
using Rule = Refusal::Rule;
using Work = Transition::Work;

namespace {

const ManagerId kManager{7};

State make_state(const std::map<Location, Bytes>& budgets = {}, std::optional<int> devices = 2) {
  return State(kManager, budgets, devices);
}

HandleId put(State& state, Bytes bytes, Location at, ReplicaMode mode = ReplicaMode::replicable) {
  return std::get<HandleId>(state.adopt(make_spec("v", bytes, mode), at, bytes));
}

Rule rule(const std::variant<Transition, Refusal>& result) { return std::get<Refusal>(result).rule; }
Work work(const std::variant<Transition, Refusal>& result) { return std::get<Transition>(result).work; }

}  // namespace

TEST_CASE("R2: a budgeted location has its account from the start, others with the first use that succeeds") {
  State state = make_state({{kDevice, 0}});
  REQUIRE(state.account(kDevice) != nullptr);
  CHECK(state.account(kDevice)->remaining() == Bytes{0});
  CHECK(state.account(kPinned) == nullptr);
  CHECK(std::get<Refusal>(state.adopt(make_spec("v", 256), kDevice, 256)).rule == Rule::budget);
  const HandleId value = put(state, 256, kPageable);
  const auto begun = state.begin(Ensure{value, kPinned, {}});
  CHECK(state.account(kPinned) != nullptr);
  state.abort(std::get<Transition>(begun));
  CHECK(state.account(kPinned) == nullptr);
  state.apply(Ensure{value, kPinned, {}});
  CHECK(state.account(kPinned)->used == 256);
  CHECK_FALSE(state.account(kPinned)->remaining());
}

TEST_CASE("R3: a cuda location that is not there is refused without an account") {
  State state = make_state();
  const HandleId value = put(state, 256, kPageable);
  CHECK(rule(state.begin(Ensure{value, Location::cuda(2), {}})) == Rule::absent_location);
  CHECK(rule(state.begin(Drop{value, Location::cuda(2)})) == Rule::absent_location);
  CHECK(std::get<Refusal>(state.reserve({Location::cuda(2), 256, "w"})).rule == Rule::absent_location);
  CHECK(state.account(Location::cuda(2)) == nullptr);
  CHECK_THROWS_AS(make_state({{Location::cuda(2), 256}}), std::invalid_argument);
  CHECK_NOTHROW(make_state({{Location::cuda(2), 256}}, std::nullopt));
}

TEST_CASE("R4: an adopted value is must-preserve, and a refused adoption leaves no value") {
  State state = make_state({{kDevice, 512}});
  const HandleId value = std::get<HandleId>(state.adopt(reconstructible("v", 300), kDevice, 300));
  CHECK(state.record(value).spec->recoverability == Recoverability::must_preserve);
  CHECK(state.account(kDevice)->used == 512);
  CHECK(std::get<Refusal>(state.adopt(make_spec("w", 1), kDevice, 1)).rule == Rule::budget);
  CHECK(state.records().size() == 1);
  CHECK(state.account(kDevice)->used == 512);
}

TEST_CASE("R5: a source is registered unloaded, and only for a reconstructible value") {
  State state = make_state();
  CHECK_THROWS_AS(state.register_source(make_spec("v", 256), kPinned), std::invalid_argument);
  const HandleId value = state.register_source(reconstructible("v", 256), kPinned);
  CHECK(state.record(value).materializations.empty());
  CHECK(state.record(value).source == kPinned);
  CHECK(state.account(kPinned) == nullptr);
}

TEST_CASE("R6: foreign, unknown and discarded handles are told apart") {
  State state = make_state();
  const HandleId value = put(state, 256, kPinned);
  CHECK(state.check({ManagerId{8}, 0})->rule == Rule::foreign_handle);
  CHECK(state.check({kManager, 1})->rule == Rule::unknown_handle);
  CHECK_FALSE(state.check(value));
  state.apply(Discard{value});
  CHECK(state.check(value)->rule == Rule::discarded_handle);
  const HandleId twin = put(state, 256, kPinned);
  CHECK(twin != put(state, 256, kPinned));
}

TEST_CASE("R7: every replica is charged the full storage bytes, however small its block is") {
  State state = make_state();
  ValueSpec spec = make_spec("v", 100);
  spec.storage_bytes = 1024;
  const HandleId value = std::get<HandleId>(state.adopt(spec, kPinned, 200));
  state.apply(Ensure{value, kDevice, {}});
  CHECK(state.account(kPinned)->used == 1024);
  CHECK(state.account(kDevice)->used == 1024);
  CHECK(state.record(value).at(kDevice)->actual_bytes == 200);
  spec.storage_bytes = 64;
  CHECK_THROWS_AS(check_spec(spec), std::invalid_argument);
  spec.storage_bytes = 300;
  CHECK_THROWS_AS(check_spec(spec), std::invalid_argument);
  spec = make_spec("v", 100);
  spec.type.clear();
  CHECK_THROWS_AS(check_spec(spec), std::invalid_argument);
}

TEST_CASE("R9: ensure adds a replica, does nothing where one is, and refuses an exclusive value elsewhere") {
  State state = make_state();
  const HandleId value = put(state, 256, kPinned);
  CHECK(work(state.apply(Ensure{value, kDevice, {}})) == Work::copy);
  CHECK(state.record(value).materializations.size() == 2);
  CHECK(work(state.apply(Ensure{value, kDevice, {}})) == Work::nothing);
  const HandleId alone = put(state, 256, kPinned, ReplicaMode::exclusive);
  CHECK(work(state.apply(Ensure{alone, kPinned, {}})) == Work::nothing);
  CHECK(rule(state.apply(Ensure{alone, kDevice, {}})) == Rule::exclusive_elsewhere);
}

TEST_CASE("R10: move installs and then removes one source, or only removes it, or does nothing") {
  State state = make_state();
  const HandleId value = put(state, 256, kPinned);
  CHECK(work(state.apply(Move{value, kDevice, {}})) == Work::copy);
  CHECK(state.record(value).at(kPinned) == nullptr);
  CHECK(work(state.apply(Move{value, kDevice, {}})) == Work::nothing);
  CHECK(work(state.apply(Move{value, kDevice, kDevice})) == Work::nothing);
  state.apply(Ensure{value, kPinned, {}});
  state.apply(Ensure{value, kPageable, {}});
  CHECK(work(state.apply(Move{value, kDevice, kPinned})) == Work::remove);
  CHECK(state.record(value).at(kPinned) == nullptr);
  CHECK(state.record(value).at(kPageable) != nullptr);
  CHECK(state.record(value).at(kDevice) != nullptr);
}

TEST_CASE("R11: drop removes one replica, but never the last copy of a must-preserve value") {
  State state = make_state();
  const HandleId value = put(state, 256, kPinned);
  CHECK(work(state.apply(Drop{value, kDevice})) == Work::nothing);
  CHECK(rule(state.apply(Drop{value, kPinned})) == Rule::last_copy);
  state.apply(Ensure{value, kDevice, {}});
  CHECK(work(state.apply(Drop{value, kPinned})) == Work::remove);
  CHECK(state.account(kPinned)->used == 0);
  const HandleId source = state.register_source(reconstructible("s", 256), kPinned);
  state.apply(Ensure{source, kDevice, {}});
  CHECK(work(state.apply(Drop{source, kDevice})) == Work::remove);
}

TEST_CASE("R12: discard takes all replicas and the source, and leaves the handle known as discarded") {
  State state = make_state();
  const HandleId value = state.register_source(reconstructible("s", 256), kPinned);
  state.apply(Ensure{value, kDevice, {}});
  state.apply(Ensure{value, kPinned, {}});
  state.protect(value, kPinned, State::Token::hold);
  CHECK(rule(state.apply(Discard{value})) == Rule::in_use);
  CHECK(state.record(value).materializations.size() == 2);
  state.unprotect(value, kPinned, State::Token::hold);
  state.apply(Discard{value});
  CHECK(state.record(value).discarded);
  CHECK(state.record(value).materializations.empty());
  CHECK_FALSE(state.record(value).source);
  CHECK(state.account(kDevice)->used == 0);
  CHECK(rule(state.apply(Discard{value})) == Rule::discarded_handle);
}

TEST_CASE("R13: an omitted source is the first in location order, and an explicit one has to be resident") {
  State state = make_state();
  const HandleId value = put(state, 256, Location::cuda(1));
  state.apply(Ensure{value, kPinned, {}});
  CHECK(std::get<Transition>(state.resolve(Ensure{value, kDevice, {}})).source == kPinned);
  CHECK(std::get<Transition>(state.resolve(Move{value, kPinned, {}})).source == Location::cuda(1));
  CHECK(std::get<Transition>(state.resolve(Move{value, kDevice, Location::cuda(1)})).source ==
        Location::cuda(1));
  CHECK(rule(state.resolve(Move{value, kDevice, kPageable})) == Rule::unavailable);
  CHECK(rule(state.resolve(Ensure{value, kPinned, kPageable})) == Rule::unavailable);
}

TEST_CASE("R15: the destination is charged while the source still is, and the source only after install") {
  State state = make_state({{kDevice, 512}, {kPinned, 512}});
  const HandleId value = put(state, 512, kPinned);
  const auto begun = state.begin(Move{value, kDevice, {}});
  CHECK(state.account(kPinned)->used == 512);
  CHECK(state.account(kDevice)->used == 512);
  state.commit(std::get<Transition>(begun), 512);
  CHECK(state.account(kPinned)->used == 0);
  const HandleId other = put(state, 512, kPinned);
  const auto refused = std::get<Refusal>(state.begin(Ensure{other, kDevice, {}}));
  CHECK(refused.rule == Rule::budget);
  CHECK(refused.value == other);
  CHECK(refused.at == kDevice);
  CHECK(refused.budget == 512);
  CHECK(refused.used == 512);
  CHECK(refused.requested == 512);
}

TEST_CASE(
    "R16: a load charges its source location for its own time, once where it loads at the destination") {
  State state = make_state({{kDevice, 512}, {kPinned, 512}});
  const HandleId value = state.register_source(reconstructible("s", 512), kPinned);
  auto begun = std::get<Transition>(state.begin(Ensure{value, kDevice, {}}));
  CHECK(begun.work == Work::load);
  CHECK(state.account(kPinned)->reserved == 512);
  CHECK(state.account(kDevice)->used == 512);
  state.commit(begun, 512);
  CHECK(state.account(kPinned)->reserved == 0);
  CHECK(state.account(kPinned)->peak_charged == 512);
  CHECK(state.account(kPinned)->peak_used == 0);
  state.apply(Drop{value, kDevice});
  begun = std::get<Transition>(state.begin(Ensure{value, kPinned, {}}));
  CHECK(begun.temporary == 0);
  CHECK(state.account(kPinned)->used == 512);
  state.abort(begun);
  CHECK(state.account(kPinned)->used == 0);

  CHECK(work(state.apply(Move{value, kDevice, {}})) == Work::load);
  CHECK(state.record(value).materializations.size() == 1);
  state.apply(Drop{value, kDevice});
  CHECK(rule(state.apply(Move{value, kDevice, kPinned})) == Rule::unavailable);
}

TEST_CASE("R16: a load is refused where its source location has no room, and charges nothing then") {
  State state = make_state({{kDevice, 512}, {kPinned, 256}});
  const HandleId value = state.register_source(reconstructible("s", 512), kPinned);
  CHECK(std::get<Refusal>(state.apply(Ensure{value, kDevice, {}})).at == kPinned);
  CHECK(state.account(kDevice)->used == 0);
  CHECK(state.account(kDevice)->peak_charged == 0);
}

TEST_CASE("R24: admission is exact: the last granule fits and one more does not") {
  State state = make_state({{kDevice, 1024}});
  put(state, 512, kDevice);
  REQUIRE(std::holds_alternative<ReservationId>(state.reserve({kDevice, 256, "w"})));
  CHECK(std::get<Refusal>(state.reserve({kDevice, 257, "w"})).requested == 512);
  CHECK(std::holds_alternative<ReservationId>(state.reserve({kDevice, 256, "w"})));
  CHECK(state.account(kDevice)->remaining() == Bytes{0});
  CHECK(std::get<Refusal>(state.reserve({kDevice, Bytes{1} << 63, "w"})).rule == Rule::budget);
}

TEST_CASE("R24: charges of an unbudgeted location never wrap around") {
  State state = make_state();
  const Bytes half = Bytes{1} << 63;
  CHECK(std::holds_alternative<ReservationId>(state.reserve({kPinned, half, "w"})));
  CHECK_THROWS_AS(state.reserve({kPinned, half, "w"}), std::overflow_error);
  CHECK(state.account(kPinned)->reserved == half);
}

TEST_CASE("R25: peaks follow materializations alone, and all charges together") {
  State state = make_state({{kDevice, 4096}});
  const HandleId value = put(state, 512, kPinned);
  state.apply(Ensure{value, kDevice, {}});
  const auto id = std::get<ReservationId>(state.reserve({kDevice, 1024, "w"}));
  state.release(id);
  state.apply(Drop{value, kDevice});
  const Account* account = state.account(kDevice);
  CHECK(account->used == 0);
  CHECK(account->reserved == 0);
  CHECK(account->peak_used == 512);
  CHECK(account->peak_charged == 1536);
  CHECK(account->remaining() == Bytes{4096});
}

TEST_CASE("R35: drop, move-source removal and discard are refused for use, hold and pending alike") {
  for (const auto token : {State::Token::use, State::Token::hold, State::Token::pending}) {
    State state = make_state();
    const HandleId value = put(state, 256, kPinned);
    state.apply(Ensure{value, kDevice, {}});
    state.protect(value, kPinned, token);
    CHECK(rule(state.begin(Drop{value, kPinned})) == Rule::in_use);
    CHECK(rule(state.begin(Move{value, kDevice, kPinned})) == Rule::in_use);
    CHECK(rule(state.begin(Move{value, kPageable, kPinned})) == Rule::in_use);
    CHECK(rule(state.begin(Discard{value})) == Rule::in_use);
    CHECK(work(state.apply(Drop{value, kDevice})) == Work::remove);
    CHECK(work(state.apply(Ensure{value, kDevice, {}})) == Work::copy);
  }
}

TEST_CASE("R36: a reservation needs a label, may be empty, and counts whole granules") {
  State state = make_state({{kDevice, 512}});
  CHECK_THROWS_AS(state.reserve({kDevice, 256, ""}), std::invalid_argument);
  CHECK(std::holds_alternative<ReservationId>(state.reserve({kDevice, 0, "empty"})));
  const auto id = std::get<ReservationId>(state.reserve({kDevice, 1, "one"}));
  CHECK(state.account(kDevice)->reserved == 256);
  state.release(id);
  state.release(id);
  CHECK(state.account(kDevice)->reserved == 0);
  CHECK(state.reservations().size() == 1);
}

TEST_CASE("R37: a protection's count never goes below zero") {
  State state = make_state();
  const HandleId value = put(state, 256, kPinned);
  CHECK_THROWS_AS(state.unprotect(value, kPinned, State::Token::use), std::logic_error);
  state.protect(value, kPinned, State::Token::use);
  CHECK_THROWS_AS(state.unprotect(value, kPinned, State::Token::hold), std::logic_error);
  state.use_to_pending(value, kPinned);
  CHECK(state.record(value).at(kPinned)->protection == Protection{.use = 0, .hold = 0, .pending = 1});
}

TEST_CASE("R38: adopting from a reservation turns its bytes into used bytes and raises no peak") {
  State state = make_state({{kDevice, 1024}});
  const auto id = std::get<ReservationId>(state.reserve({kDevice, 1024, "outputs"}));
  const HandleId value = std::get<HandleId>(state.adopt(make_spec("y", 512), kDevice, 512, id));
  CHECK(state.account(kDevice)->used == 512);
  CHECK(state.account(kDevice)->reserved == 512);
  CHECK(state.account(kDevice)->peak_charged == 1024);
  CHECK(state.reservation(id)->spec.bytes == 512);
  CHECK(std::get<Refusal>(state.adopt(make_spec("z", 768), kDevice, 768, id)).rule == Rule::budget);
  CHECK_THROWS_AS(state.adopt(make_spec("z", 256), kPinned, 256, id), std::invalid_argument);
  state.release(id);
  CHECK(std::get<Refusal>(state.adopt(make_spec("z", 256), kDevice, 256, id)).rule ==
        Rule::closed_reservation);
  CHECK(state.account(kDevice)->used == 512);
  CHECK(state.account(kDevice)->reserved == 0);
  CHECK(state.record(value).at(kDevice) != nullptr);
}

TEST_CASE("R48: the version grows with each change, and not with looks, refusals, aborts and no-ops") {
  State state = make_state({{kDevice, 512}});
  CHECK(state.version() > 0);
  const auto grows = [&](auto change) {
    const auto before = state.version();
    change();
    return state.version() > before;
  };
  HandleId value{};
  ReservationId id{};
  CHECK(grows([&] { value = put(state, 512, kPinned); }));
  CHECK(grows([&] { state.register_source(reconstructible("s", 1), kPinned); }));
  CHECK(grows([&] { state.apply(Ensure{value, kDevice, {}}); }));
  CHECK(grows([&] { state.protect(value, kDevice, State::Token::use); }));
  CHECK(grows([&] { state.use_to_pending(value, kDevice); }));
  CHECK(grows([&] { state.unprotect(value, kDevice, State::Token::pending); }));
  CHECK_FALSE(grows([&] { state.apply(Ensure{value, kDevice, {}}); }));
  CHECK_FALSE(grows([&] { state.resolve(Drop{value, kDevice}); }));
  CHECK(grows([&] { state.apply(Drop{value, kDevice}); }));
  CHECK(grows([&] { id = std::get<ReservationId>(state.reserve({kDevice, 256, "w"})); }));
  CHECK_FALSE(grows([&] { state.apply(Ensure{value, kDevice, {}}); }));
  CHECK(grows([&] { state.release(id); }));
  CHECK_FALSE(grows([&] { state.release(id); }));
  CHECK_FALSE(grows([&] { state.abort(std::get<Transition>(state.begin(Ensure{value, kDevice, {}}))); }));
}

TEST_CASE("restoring a mark undoes what apply did, newest first") {
  State state = make_state({{kDevice, 512}});
  const HandleId value = put(state, 512, kPinned);
  const auto first = state.mark(value);
  state.apply(Move{value, kDevice, {}});
  const auto second = state.mark(value);
  state.apply(Move{value, kPageable, {}});
  state.restore(second);
  CHECK(state.record(value).at(kDevice) != nullptr);
  state.restore(first);
  CHECK(state.record(value).at(kPinned) != nullptr);
  CHECK(state.account(kDevice)->used == 0);
  CHECK(state.account(kPageable) == nullptr);
  CHECK(state.version() == first.version);
}

TEST_CASE("R13: an announced value cannot be brought anywhere before it is adopted, and then once") {
  State state = make_state({{kDevice, 1024}});
  const HandleId y = state.announce(make_spec("y", 512));
  CHECK(rule(state.apply(Ensure{y, kDevice, {}})) == Rule::unavailable);
  CHECK(rule(state.apply(Move{y, kDevice, {}})) == Rule::unavailable);
  CHECK(work(state.apply(Drop{y, kDevice})) == Work::nothing);
  CHECK(state.account(kDevice)->peak_charged == 0);
  const auto id = std::get<ReservationId>(state.reserve({kDevice, 1024, "outputs"}));
  CHECK_FALSE(state.adopt(y, kDevice, 512, id));
  CHECK(state.adopt(y, kDevice, 512, id)->rule == Rule::not_announced);
  CHECK(work(state.apply(Move{y, kPinned, {}})) == Work::copy);
}

TEST_CASE("a copy for some values answers for these as the whole state does") {
  State state = make_state({{kDevice, 1024}});
  put(state, 512, kDevice);
  const HandleId x = put(state, 512, kPinned);
  const HandleId y = put(state, 768, kPinned);
  const HandleId named[] = {y, x, {ManagerId{8}, 0}, {kManager, 99}};
  State copy = state.copy_for(named);
  CHECK(copy.version() == state.version());
  CHECK(copy.size() == 3);
  CHECK(rule(copy.begin(Ensure{y, kDevice, {}})) == Rule::budget);
  CHECK(work(copy.apply(Ensure{x, kDevice, {}})) == Work::copy);
  CHECK(copy.account(kDevice)->remaining() == Bytes{0});
  CHECK(state.account(kDevice)->remaining() == Bytes{512});
  CHECK_THROWS_AS(copy.record(copy.handle(0)), std::logic_error);  // not one of the named
  CHECK_THROWS_AS(copy.records(), std::logic_error);
}
