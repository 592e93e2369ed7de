#include "ring/cuda/ntt_pass.hpp"

#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "ring/ring_support.hpp"
#include "support/random.hpp"

using namespace fheres;
using namespace fheres::test;
using namespace fheres::ring::cuda;

namespace {

// Runs one pass over all tiles as a device would, one thread after the other between two barriers.
template <int kLog, bool kColumns, bool kForward>
class HostPass {
 public:
  HostPass(std::vector<u64>& values, int log_n, const ring::Shoup* roots, u64 q)
      : values_(values), other_log_(log_n - kLog), roots_(roots), q_(q) {}

  void run() {
    for (int tile = 0; tile < (1 << other_log_) / kWidth; ++tile) {
      shared_.assign(Memory::kWords, ~u64{0});
      round<kForward ? 0 : Shape::kCount - 1>(tile);
    }
  }
  u64 largest() const { return largest_; }

 private:
  using Shape = Rounds<kLog>;
  using Memory = Tile<kLog, kColumns>;

  template <int kRound>
  void round(int tile) {
    constexpr int kStart = Shape::start(kRound), kDepth = Shape::depth(kRound);
    constexpr bool kFirst = kRound == (kForward ? 0 : Shape::kCount - 1);
    constexpr bool kLast = kRound == (kForward ? Shape::kCount - 1 : 0);
    using Map = Held<kLog, kStart, kDepth>;
    for (int thread = 0; thread < Memory::kThreads; ++thread) {
      const int member = Memory::member(thread), lane = Memory::lane(thread);
      const int line = tile * kWidth + member;
      u64 x[kHeld];
      for (int h = 0; h < kHeld; ++h) x[h] = *place(kFirst, member, line, Map::point(lane, h));
      const u64 base = Memory::base(line, other_log_);
      if constexpr (kForward) {
        forward_round<kLog, kStart, kDepth>(x, lane, base, roots_, q_);
      } else {
        inverse_round<kLog, kStart, kDepth>(x, lane, base, roots_, q_);
      }
      for (int h = 0; h < kHeld; ++h) {
        *place(kLast, member, line, Map::point(lane, h)) = x[h];
        largest_ = std::max(largest_, x[h]);
      }
    }
    if constexpr (!kLast) round<kForward ? kRound + 1 : kRound - 1>(tile);
  }
  u64* place(bool global, int member, int line, int point) {
    return global ? &values_[Memory::position(line, point, other_log_)]
                  : &shared_[static_cast<std::size_t>(Memory::word(member, point))];
  }

  std::vector<u64>& values_;
  std::vector<u64> shared_;
  int other_log_;
  const ring::Shoup* roots_;
  u64 q_;
  u64 largest_ = 0;
};

template <bool kColumns, bool kForward>
u64 run_pass(int log, std::vector<u64>& values, int log_n, const std::vector<ring::Shoup>& roots, u64 q) {
  const auto run = [&](auto pass) {
    pass.run();
    return pass.largest();
  };
  switch (log) {
    case 5:
      return run(HostPass<5, kColumns, kForward>(values, log_n, roots.data(), q));
    case 6:
      return run(HostPass<6, kColumns, kForward>(values, log_n, roots.data(), q));
    case 7:
      return run(HostPass<7, kColumns, kForward>(values, log_n, roots.data(), q));
    case 8:
      return run(HostPass<8, kColumns, kForward>(values, log_n, roots.data(), q));
    default:
      return run(HostPass<9, kColumns, kForward>(values, log_n, roots.data(), q));
  }
}

}  // namespace

TEST_CASE("two passes are the pinned transform, and their lazy ranges hold") {
  const std::uint64_t seed = test_seed(std::random_device{}());
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int log_n = 10; log_n <= 17; ++log_n) {
    for (int bits : {30, 60}) {
      CAPTURE(log_n);
      CAPTURE(bits);
      const auto basis = ring::Basis::make(log_n, ntt_primes(log_n, bits, 1), {}, 1);
      const u64 q = basis->prime(0).value;
      Poly poly = random_poly(*basis, 0, 1, 1, random);
      std::vector<u64> values = poly.words;
      const int columns = column_log(log_n);

      CHECK(run_pass<true, true>(columns, values, log_n, basis->ntt(0).forward, q) < 4 * q);
      CHECK(run_pass<false, true>(log_n - columns, values, log_n, basis->ntt(0).forward, q) < 4 * q);
      for (u64& x : values) x %= q;
      Poly expected = poly;
      expected.view.data = expected.words.data();
      ring::make_cpu_backend(basis, nullptr)->forward(expected.view, {});
      REQUIRE(values == expected.words);

      CHECK(run_pass<false, false>(log_n - columns, values, log_n, basis->ntt(0).inverse, q) < 2 * q);
      CHECK(run_pass<true, false>(columns, values, log_n, basis->ntt(0).inverse, q) < 2 * q);
      for (u64& x : values) x = ring::mul_shoup(x, basis->ntt(0).n_inverse, q);
      REQUIRE(values == poly.words);
    }
  }
}

TEST_CASE("a tile's words are distinct and inside its memory") {
  const auto check = [](auto tile, int log) {
    std::vector<bool> taken(static_cast<std::size_t>(tile.kWords));
    for (int member = 0; member < kWidth; ++member) {
      for (int p = 0; p < (1 << log); ++p) {
        const auto word = static_cast<std::size_t>(tile.word(member, p));
        REQUIRE(word < taken.size());
        REQUIRE_FALSE(taken[word]);
        taken[word] = true;
      }
    }
  };
  check(Tile<5, true>{}, 5);
  check(Tile<9, true>{}, 9);
  check(Tile<5, false>{}, 5);
  check(Tile<6, false>{}, 6);
  check(Tile<7, false>{}, 7);
  check(Tile<8, false>{}, 8);
}
