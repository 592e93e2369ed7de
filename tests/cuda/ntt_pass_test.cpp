#include "ring/cuda/ntt_pass.hpp"

#include <cmath>
#include <memory>
#include <random>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <fheres/scheme/advice.hpp>

#include "ring/cuda/double_sums.hpp"
#include "ring/ring_support.hpp"
#include "support/random.hpp"

using namespace fheres;
using namespace fheres::test;
using namespace fheres::ring::cuda;

namespace {

// Runs one pass over all tiles as a device would, one thread after the other between two barriers.
template <class P, bool kForward, class Field>
class HostPass {
 public:
  HostPass(std::vector<u64>& values, const u64* roots, u64 q) : values_(values), roots_(roots), field_(q) {}

  void run() {
    for (int tile = 0; tile < P::kTiles; ++tile) {
      shared_.assign(P::kWords, ~u64{0});
      round<kForward ? 0 : P::kRounds - 1>(tile);
    }
  }
  double largest() const { return largest_; }

 private:
  static constexpr bool kResidues = P::kColumns == kForward;

  template <int kRound>
  void round(int tile) {
    using R = Round<P, kRound>;
    constexpr bool kFirst = kRound == (kForward ? 0 : P::kRounds - 1);
    constexpr bool kLast = kRound == (kForward ? P::kRounds - 1 : 0);
    for (int thread = 0; thread < P::kThreads; ++thread) {
      const int member = P::member(thread), lane = P::lane(thread);
      const int line = tile * kWidth + member;
      typename Field::Number x[P::kHeld];
      for (int h = 0; h < P::kHeld; ++h) {
        const u64 word = *place(kFirst, member, line, R::first_point(lane) + R::further(h));
        x[h] = kFirst && kResidues ? Field::from_residue(word) : Field::load(word);
      }
      transform_round<R, kForward>(x, lane, P::base(line), roots_, field_);
      for (int h = 0; h < P::kHeld; ++h) {
        largest_ = std::max(largest_, std::abs(static_cast<double>(x[h])));
        *place(kLast, member, line, R::first_point(lane) + R::further(h)) =
            kLast && !kResidues ? field_.to_residue(x[h]) : Field::store(x[h]);
      }
    }
    if constexpr (!kLast) round<kForward ? kRound + 1 : kRound - 1>(tile);
  }
  u64* place(bool global, int member, int line, int point) {
    return global ? &values_[P::line_at(line) + P::point_at(point)]
                  : &shared_[static_cast<std::size_t>(P::member_word(member) + P::point_word(point))];
  }

  std::vector<u64>& values_;
  std::vector<u64> shared_;
  const u64* roots_;
  Field field_;
  double largest_ = 0;
};

// Calls body(std::integral_constant<int, log_n>) with what is known only when the test runs.
template <class Body>
void at_log_n(int log_n, const Body& body) {
  const auto visit = [&](auto constant) {
    if (log_n == constant.value) body(constant);
  };
  visit(std::integral_constant<int, 10>());
  visit(std::integral_constant<int, 11>());
  visit(std::integral_constant<int, 12>());
  visit(std::integral_constant<int, 13>());
  visit(std::integral_constant<int, 14>());
  visit(std::integral_constant<int, 15>());
  visit(std::integral_constant<int, 16>());
  visit(std::integral_constant<int, 17>());
}

template <bool kColumns, bool kForward, class Field>
double run_pass(std::vector<u64>& values, int log_n, const std::vector<u64>& roots, u64 q) {
  double largest = 0;
  at_log_n(log_n, [&](auto constant) {
    HostPass<Pass<decltype(constant)::value, kColumns>, kForward, Field> pass(values, roots.data(), q);
    pass.run();
    largest = pass.largest();
  });
  return largest;
}

// Forward and back, against the host's back end; numbers never exceed `bound`, in multiples of q.
template <class Field>
void check_transform(const ring::Basis& basis, std::mt19937_64& random, double forward_bound,
                     double inverse_bound) {
  const int log_n = basis.log_n();
  const u64 q = basis.prime(0).value;
  std::vector<u64> forward, inverse;
  append_roots(basis.ntt(0).forward, q, forward);
  append_roots(basis.ntt(0).inverse, q, inverse);
  Poly poly = random_poly(basis, 0, 1, 1, random);
  std::vector<u64> values = poly.words;

  CHECK(run_pass<true, true, Field>(values, log_n, forward, q) < forward_bound * static_cast<double>(q));
  CHECK(run_pass<false, true, Field>(values, log_n, forward, q) < forward_bound * static_cast<double>(q));
  Words expected = poly.words;
  ring::View view = poly.view;
  view.data = expected.data();
  ring::make_cpu_backend(std::shared_ptr<const ring::Basis>(&basis, [](const ring::Basis*) {}), nullptr)
      ->forward(view, {});
  REQUIRE(values == expected);

  CHECK(run_pass<false, false, Field>(values, log_n, inverse, q) < inverse_bound * static_cast<double>(q));
  CHECK(run_pass<true, false, Field>(values, log_n, inverse, q) < inverse_bound * static_cast<double>(q));
  for (u64& x : values) x = ring::mul_shoup(x, basis.ntt(0).n_inverse, q);
  REQUIRE(values == poly.words);
}

}  // namespace

TEST_CASE("two passes are the pinned transform, in both arithmetics, and their ranges hold") {
  const std::uint64_t seed = test_seed(std::random_device{}());
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int log_n = 10; log_n <= 17; ++log_n) {
    for (int bits : {30, 40, 46, 60}) {
      CAPTURE(log_n);
      CAPTURE(bits);
      const auto basis = ring::Basis::make(log_n, ntt_primes(log_n, bits, 1), {}, 1);
      if (in_doubles(basis->prime(0).value)) {
        check_transform<DoubleField>(*basis, random, 15, 16);
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
  for (int bits : {20, 30, 40, 45, 46}) {
    for (const scheme::Modulus& prime : ntt_primes(4, bits, 2)) {
      const DoubleField field(prime.value);
      const auto limit = static_cast<std::int64_t>((u64{1} << 50) - 1);
      for (int i = 0; i < 20000; ++i) {
        const u64 w = i % 3 == 0 ? prime.value - 1 - random() % 3 : random() % prime.value;
        std::int64_t y = static_cast<std::int64_t>(random() >> 14) - limit;
        if (i % 5 == 0) y = limit - static_cast<std::int64_t>(random() % 4);
        if (i % 7 == 0) y = -y;
        const double product = field.multiply(static_cast<double>(y), static_cast<double>(w));
        const auto expected = static_cast<std::int64_t>(static_cast<__int128>(y) * static_cast<__int128>(w) %
                                                        static_cast<__int128>(prime.value));
        const u64 canonical =
            expected < 0 ? prime.value - static_cast<u64>(-expected) : static_cast<u64>(expected);
        CHECK(field.to_residue(product) == canonical);
        CHECK(std::abs(product) <= 0.75 * static_cast<double>(prime.value));
      }
    }
  }
}

TEST_CASE("sums of products in double precision are exact at the ends of their range") {
  const std::uint64_t seed = test_seed(std::random_device{}());
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int bits : {20, 30, 40, 46}) {
    for (const scheme::Modulus& prime : ntt_primes(4, bits, 2)) {
      const auto q = static_cast<__int128>(prime.value);
      const DoubleField field(prime.value);
      // 2^kSumBits modulo q, of least absolute value, as the device's tables have it.
      auto unit = static_cast<std::int64_t>((static_cast<__int128>(1) << kSumBits) % q);
      if (2 * static_cast<__int128>(unit) > q) unit -= static_cast<std::int64_t>(q);
      for (int round = 0; round < 2000; ++round) {
        const std::uint64_t offset = round % 3 == 0 ? prime.value - 1 : random() % prime.value;
        DoubleSums<1> sums(DoubleField::from_residue(offset));
        __int128 expected = offset;
        // All of one sign at the ends, or any.
        const int sign = round % 4 - 1;
        const auto factor = [&] {
          const auto largest = static_cast<std::int64_t>(prime.value / 2);
          const std::int64_t w =
              round % 4 < 3 ? largest : static_cast<std::int64_t>(random() % (prime.value)) - largest;
          return sign < 0 ? -w : w;
        };
        const auto add = [&](std::uint64_t y) {
          const std::int64_t w = factor();
          sums.add(0, DoubleField::from_residue(y), static_cast<double>(w));
          expected += static_cast<__int128>(y) * w % q;
        };
        for (int i = 0; i < 32; ++i) {
          add(round % 4 < 3 ? (u64{1} << 46) - 1 - random() % 2 : random() >> 18);
          add((u64{1} << 31) - 1 - (round % 4 < 3 ? 0 : random() >> 33));
        }
        const auto count = static_cast<std::int64_t>(round % 33);
        const std::int64_t small = factor();
        sums.add_small(0, static_cast<double>(count), static_cast<double>(small));
        expected += static_cast<__int128>(count) * small;
        const double sum = sums.end(0, field, std::ldexp(static_cast<double>(unit), -kSumBits));
        REQUIRE(std::abs(sum) <= 1.5 * static_cast<double>(prime.value) + 1);
        REQUIRE(field.to_residue(sum) == static_cast<u64>((expected % q + q) % q));
      }
    }
  }
}

TEST_CASE("a tile's words are distinct and inside its memory, and a round's points are all points") {
  const auto check = [](auto pass) {
    using P = decltype(pass);
    std::vector<bool> taken(static_cast<std::size_t>(P::kWords));
    for (int member = 0; member < kWidth; ++member) {
      for (int p = 0; p < (1 << P::kLog); ++p) {
        const auto word = static_cast<std::size_t>(P::member_word(member) + P::point_word(p));
        REQUIRE(word < taken.size());
        REQUIRE_FALSE(taken[word]);
        taken[word] = true;
      }
    }
    std::vector<int> inner(std::size_t{1} << P::kLog), outer(inner.size());
    using R = Round<P, P::kRounds - 1>;
    for (int lane = 0; lane < P::kLanes; ++lane) {
      for (int h = 0; h < P::kHeld; ++h) {
        // Offsets are in bits of their own, also once padded.
        CHECK((R::first_point(lane) & R::further(h)) == 0);
        CHECK(P::point_word(R::first_point(lane) + R::further(h)) ==
              P::point_word(R::first_point(lane)) + P::point_word(R::further(h)));
        ++inner[static_cast<std::size_t>(R::first_point(lane) + R::further(h))];
        ++outer[static_cast<std::size_t>(R::first_outer(lane) + R::outer_further(h))];
      }
    }
    CHECK(inner == std::vector<int>(inner.size(), 1));
    CHECK(outer == inner);
  };
  for (int log_n = 10; log_n <= 17; ++log_n) {
    CAPTURE(log_n);
    at_log_n(log_n, [&](auto constant) {
      check(Pass<decltype(constant)::value, true>());
      check(Pass<decltype(constant)::value, false>());
    });
  }
}

TEST_CASE("advice and fast presets know which primes go through double precision") {
  CHECK(kDoubleLimit == u64{1} << scheme::kFastPrimeBits);
}
