#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include "world.hpp"

using namespace fheres;
using namespace fheres::control;
using namespace fheres::control::testing;

TEST_CASE("R54 the order is priority, then access, then stable key, then registration") {
  const std::string early = "a", late = "b";
  std::vector<Candidate> candidates;
  const auto add = [&](std::uint64_t serial, std::int64_t priority, std::uint64_t epoch,
                       const std::string* key) {
    candidates.push_back(
        {.value = {{}, serial}, .priority = priority, .access_epoch = epoch, .stable_key = key});
  };
  add(7, 0, 0, nullptr);
  add(6, 0, 0, nullptr);
  add(5, 0, 0, &late);
  add(4, 0, 0, &early);
  add(3, 0, 2, &early);
  add(2, 0, 1, nullptr);
  add(1, -1, 9, nullptr);
  add(0, 1, 0, &early);
  const std::vector<std::uint64_t> expected{1, 4, 5, 6, 7, 2, 3, 0};
  std::mt19937 random(11);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(candidates.begin(), candidates.end(), random);
    std::vector<std::uint64_t> serials;
    for (const std::size_t index : DeterministicTieredLRU().order(candidates)) {
      serials.push_back(candidates[index].value.serial);
    }
    CHECK(serials == expected);
  }
}

TEST_CASE("R53 tiers never name their own source, nor a location twice") {
  CHECK_THROWS_AS(DeterministicTieredLRU({{cuda0, {pinned, cuda0}}}), std::invalid_argument);
  CHECK_THROWS_AS(DeterministicTieredLRU({{cuda0, {pinned, pinned}}}), std::invalid_argument);
  const DeterministicTieredLRU policy({{cuda0, {pinned, pageable}}, {pinned, {pageable}}});
  CHECK(policy.fallback_tiers(cuda1).empty());
  CHECK(policy.fallback_tiers(cuda0).size() == 2);
  CHECK(policy.identity() == "tiered-lru (pinned-host: pageable-host; cuda:0: pinned-host pageable-host)");
  CHECK(DeterministicTieredLRU().identity() == "tiered-lru");
}

namespace {

// Records what it was shown, and answers whatever it was told to.
class Curious final : public Policy {
 public:
  std::string identity() const override { return "curious"; }
  std::vector<std::size_t> order(std::span<const Candidate> candidates) const override {
    seen.assign(candidates.begin(), candidates.end());
    if (answer) return *answer;
    std::vector<std::size_t> all(candidates.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = all.size() - 1 - i;
    return all;
  }
  std::span<const Location> fallback_tiers(Location) const override { return tiers; }

  mutable std::vector<Candidate> seen;
  std::optional<std::vector<std::size_t>> answer;
  std::vector<Location> tiers;
};

}  // namespace

TEST_CASE("R53 a policy sees unprotected materializations at the location that needs room, and no others") {
  World world({{cuda0, 10 * kMiB}});
  const HandleId held = world.put("held", 2 * kMiB, {cuda0, pageable});
  const HandleId spare = world.put("spare", 3 * kMiB, {cuda0, pageable});
  const HandleId rebuilt = world.put_source("rebuilt", 4 * kMiB, pageable, {cuda0});
  world.put("elsewhere", kMiB, {pageable});
  const HandleId wanted = world.put("wanted", 5 * kMiB, {pageable});
  world.hold(held, cuda0);
  world.metadata.set(spare, 5, "key");
  Curious policy;
  const Outcome outcome = decide(world.state, {"r", {{wanted, cuda0}}, {}}, policy, world.metadata);
  REQUIRE(policy.seen.size() == 2);
  CHECK(policy.seen[0].value == spare);
  CHECK(policy.seen[0].at == cuda0);
  CHECK(policy.seen[0].priority == 5);
  CHECK(policy.seen[0].replicas == 2);
  CHECK(policy.seen[1].value == rebuilt);
  CHECK(policy.seen[1].bytes == 4 * kMiB);
  CHECK(policy.seen[1].reconstructible);
  CHECK(victims(std::get<Decision>(outcome)) == "rebuilt at cuda:0");  // last first, as this policy says
  CHECK(std::get<Decision>(outcome).policy == "curious");
}

TEST_CASE(
    "R53 a policy that leaves out, repeats or invents candidates, or names odd tiers, is a logic error") {
  World world({{cuda0, 10 * kMiB}});
  world.put("a", 5 * kMiB, {cuda0, pageable});
  world.put("b", 5 * kMiB, {cuda0, pageable});
  const HandleId wanted = world.put("wanted", 5 * kMiB, {pageable});
  Curious policy;
  const auto ask = [&] { return decide(world.state, {"r", {{wanted, cuda0}}, {}}, policy, world.metadata); };
  for (const std::vector<std::size_t>& wrong :
       std::vector<std::vector<std::size_t>>{{}, {0}, {0, 0}, {0, 2}, {0, 1, 1}}) {
    policy.answer = wrong;
    CHECK_THROWS_AS(ask(), std::logic_error);
  }
  policy.answer.reset();
  policy.tiers = {cuda0};
  World full({{cuda0, 5 * kMiB}});
  full.put("only", 5 * kMiB, {cuda0});
  const HandleId other = full.put("other", kMiB, {pageable});
  CHECK_THROWS_AS(decide(full.state, {"r", {{other, cuda0}}, {}}, policy, full.metadata), std::logic_error);
}
