// R26: what accounts say is what there is.
#include <doctest/doctest.h>

#include <fheres/residency/state.hpp>

#include "residency/world.hpp"
#include "support/random.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;

namespace {

bool equals_recount(const State& state) {
  const std::vector<Account> counted = state.recount();
  const auto same = [](const Account& a, const Account& b) {
    return a.at == b.at && a.used == b.used && a.reserved == b.reserved;
  };
  return std::equal(counted.begin(), counted.end(), state.accounts().begin(), state.accounts().end(), same);
}

}  // namespace

TEST_CASE("R26: accounts equal a recount after every step of random histories") {
  const std::uint64_t seed = fheres::test::test_seed(20240611);
  CAPTURE(seed);
  fheres::test::Random random(seed);
  for (int world = 0; world < 40; ++world) {
    State state(ManagerId{7}, {{kDevice, 4096}, {kPinned, 8192}}, 2);
    const Location places[] = {kPageable, kPinned, kDevice, Location::cuda(1)};
    std::vector<HandleId> values;
    std::vector<ReservationId> reservations;
    const auto place = [&] { return places[random.below(4)]; };
    const auto from = [&]() -> std::optional<Location> {
      return random.chance(3) ? std::optional<Location>(place()) : std::nullopt;
    };
    for (int step = 0; step < 120; ++step) {
      const Bytes bytes = 1 + random.below(2000);
      const auto mode = random.chance(3) ? ReplicaMode::exclusive : ReplicaMode::replicable;
      switch (random.below(8)) {
        case 0: {
          const auto made = state.adopt(make_spec("v", bytes, mode), place(), bytes);
          if (const auto* value = std::get_if<HandleId>(&made)) values.push_back(*value);
          break;
        }
        case 1:
          values.push_back(
              state.register_source(make_spec("s", bytes, mode, Recoverability::reconstructible), place()));
          break;
        case 2: {
          const auto made = state.reserve({place(), bytes, "w"});
          if (const auto* id = std::get_if<ReservationId>(&made)) reservations.push_back(*id);
          break;
        }
        case 3:
          if (!reservations.empty()) state.release(reservations[random.below(reservations.size())]);
          break;
        default: {
          if (values.empty()) break;
          const HandleId value = values[random.below(values.size())];
          const std::uint64_t kind = random.below(10);
          Action action = Ensure{value, place(), from()};
          if (kind < 4) action = Move{value, place(), from()};
          if (kind == 4 || kind == 5) action = Drop{value, place()};
          if (kind == 6) action = Discard{value};
          const auto begun = state.begin(action);
          const auto* t = std::get_if<Transition>(&begun);
          if (t == nullptr) break;
          REQUIRE(equals_recount(state));  // while it is under way, too
          if (random.chance(4)) {
            state.abort(*t);
          } else {
            state.commit(*t, t->bytes);
          }
        }
      }
      REQUIRE(equals_recount(state));
      for (const Account& a : state.accounts()) REQUIRE((!a.budget || a.used + a.reserved <= *a.budget));
    }
  }
}
