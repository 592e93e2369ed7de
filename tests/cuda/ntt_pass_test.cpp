#include "ring/cuda/ntt_pass.hpp"

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <fheres/scheme/advice.hpp>

#include "ring/ring_support.hpp"
#include "support/random.hpp"

using namespace fheres;
using namespace fheres::test;
using namespace fheres::ring::cuda;

namespace {

// Runs one pass over all tiles as a device would, one thread after the other between two barriers.
template <int kLog, bool kColumns, bool kForward, class Field>
class HostPass {
 public:
  HostPass(std::vector<u64>& values, int log_n, const ring::Shoup* roots, u64 q)
      : values_(values), other_log_(log_n - kLog), roots_(roots), field_(q) {}

  void run() {
    for (int tile = 0; tile < (1 << other_log_) / kWidth; ++tile) {
      shared_.assign(Memory::kWords, ~u64{0});
      round<kForward ? 0 : Shape::kCount - 1>(tile);
    }
  }
  double largest() const { return largest_; }

 private:
  using Shape = Rounds<kLog>;
  using Memory = Tile<kLog, kColumns>;
  static constexpr bool kResidues = kColumns == kForward;

  template <int kRound>
  void round(int tile) {
    constexpr int kStart = Shape::start(kRound), kDepth = Shape::depth(kRound);
    constexpr bool kFirst = kRound == (kForward ? 0 : Shape::kCount - 1);
    constexpr bool kLast = kRound == (kForward ? Shape::kCount - 1 : 0);
    using Map = Held<kLog, kStart, kDepth>;
    for (int thread = 0; thread < Memory::kThreads; ++thread) {
      const int member = Memory::member(thread), lane = Memory::lane(thread);
      const int line = tile * kWidth + member;
      typename Field::Number x[kHeld];
      for (int h = 0; h < kHeld; ++h) {
        const u64 word = *place(kFirst, member, line, Map::point(lane, h));
        x[h] = kFirst && kResidues ? Field::from_residue(word) : Field::load(word);
      }
      const u64 base = Memory::base(line, other_log_);
      if constexpr (kForward) {
        forward_round<kLog, kStart, kDepth>(x, lane, base, roots_, field_);
      } else {
        inverse_round<kLog, kStart, kDepth>(x, lane, base, roots_, field_);
      }
      for (int h = 0; h < kHeld; ++h) {
        largest_ = std::max(largest_, std::abs(static_cast<double>(x[h])));
        *place(kLast, member, line, Map::point(lane, h)) =
            kLast && !kResidues ? field_.to_residue(x[h]) : Field::store(x[h]);
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
  Field field_;
  double largest_ = 0;
};

template <bool kColumns, bool kForward, class Field>
double run_pass(int log, std::vector<u64>& values, int log_n, const std::vector<ring::Shoup>& roots, u64 q) {
  const auto run = [&](auto pass) {
    pass.run();
    return pass.largest();
  };
  switch (log) {
    case 5:
      return run(HostPass<5, kColumns, kForward, Field>(values, log_n, roots.data(), q));
    case 6:
      return run(HostPass<6, kColumns, kForward, Field>(values, log_n, roots.data(), q));
    case 7:
      return run(HostPass<7, kColumns, kForward, Field>(values, log_n, roots.data(), q));
    case 8:
      return run(HostPass<8, kColumns, kForward, Field>(values, log_n, roots.data(), q));
    default:
      return run(HostPass<9, kColumns, kForward, Field>(values, log_n, roots.data(), q));
  }
}

// Forward and back, against the host's back end; numbers never exceed `bound`, in multiples of q.
template <class Field>
void check_transform(const ring::Basis& basis, std::mt19937_64& random, double forward_bound,
                     double inverse_bound) {
  const int log_n = basis.log_n(), columns = column_log(log_n);
  const u64 q = basis.prime(0).value;
  std::vector<ring::Shoup> forward, inverse;
  for (const ring::Shoup& root : basis.ntt(0).forward) forward.push_back(table_entry(root, q));
  for (const ring::Shoup& root : basis.ntt(0).inverse) inverse.push_back(table_entry(root, q));
  Poly poly = random_poly(basis, 0, 1, 1, random);
  std::vector<u64> values = poly.words;

  CHECK(run_pass<true, true, Field>(columns, values, log_n, forward, q) <
        forward_bound * static_cast<double>(q));
  CHECK(run_pass<false, true, Field>(log_n - columns, values, log_n, forward, q) <
        forward_bound * static_cast<double>(q));
  Words expected = poly.words;
  ring::View view = poly.view;
  view.data = expected.data();
  ring::make_cpu_backend(std::shared_ptr<const ring::Basis>(&basis, [](const ring::Basis*) {}), nullptr)
      ->forward(view, {});
  REQUIRE(values == expected);

  CHECK(run_pass<false, false, Field>(log_n - columns, values, log_n, inverse, q) <
        inverse_bound * static_cast<double>(q));
  CHECK(run_pass<true, false, Field>(columns, values, log_n, inverse, q) <
        inverse_bound * static_cast<double>(q));
  for (u64& x : values) x = ring::mul_shoup(x, basis.ntt(0).n_inverse, q);
  REQUIRE(values == poly.words);
}

}  // namespace

TEST_CASE("two passes are the pinned transform, in both arithmetics, and their ranges hold") {
  const std::uint64_t seed = test_seed(std::random_device{}());
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int log_n = 10; log_n <= 17; ++log_n) {
    for (int bits : {30, 40, 47, 60}) {
      CAPTURE(log_n);
      CAPTURE(bits);
      const auto basis = ring::Basis::make(log_n, ntt_primes(log_n, bits, 1), {}, 1);
      if (basis->prime(0).value < kDoubleLimit) {
        check_transform<DoubleField>(*basis, random, 15, 8);
      } else {
        check_transform<IntegerField>(*basis, random, 4, 2);
      }
    }
  }
}

TEST_CASE("a product in double precision is exact at the ends of its range") {
  const std::uint64_t seed = test_seed(std::random_device{}());
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int bits : {20, 30, 40, 45, 47}) {
    for (const scheme::Modulus& prime : ntt_primes(4, bits, 2)) {
      const DoubleField field(prime.value);
      const auto limit = static_cast<std::int64_t>((u64{1} << 51) - 1);
      for (int i = 0; i < 20000; ++i) {
        const u64 w = i % 3 == 0 ? prime.value - 1 - random() % 3 : random() % prime.value;
        std::int64_t y = static_cast<std::int64_t>(random() >> 13) - limit;
        if (i % 5 == 0) y = limit - static_cast<std::int64_t>(random() % 4);
        if (i % 7 == 0) y = -y;
        double x = 0, product = static_cast<double>(y);
        field.inverse(x, product, DoubleField::root(table_entry({w, 0}, prime.value)));  // w (0 - y)
        const auto expected = static_cast<std::int64_t>(static_cast<__int128>(-y) * static_cast<__int128>(w) %
                                                        static_cast<__int128>(prime.value));
        const u64 canonical =
            expected < 0 ? prime.value - static_cast<u64>(-expected) : static_cast<u64>(expected);
        CHECK(field.to_residue(product) == canonical);
        CHECK(std::abs(product) <= 0.75 * static_cast<double>(prime.value));
      }
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

TEST_CASE("advice and fast presets know which primes go through double precision") {
  CHECK(kDoubleLimit == u64{1} << scheme::kFastPrimeBits);
}
