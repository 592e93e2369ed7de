#include "figures.hpp"

#include <algorithm>
#include <string>

#include <fheres/scheme/linear_transform.hpp>

namespace fheres::bench {
namespace {

struct Goal {
  std::string_view set, operation;
  double microseconds;
};
constexpr Goal kGoals[] = {
    {"F", "rotate", 28},    {"F", "multiply + relinearize", 31},  {"F", "rescale", 10},
    {"B", "rotate", 65},    {"B", "multiply + relinearize", 72},  {"S16", "rotate", 75},
    {"C", "rotate", 180},   {"C", "multiply + relinearize", 200}, {"D", "rotate", 220},
    {"D", "rescale", 45},   {"D", "multiply + relinearize", 240}, {"D", "multiply + relin + rescale", 240},
    {"S34", "rotate", 270}, {"S34", "8 rotations, hoisted", 950},
};

/// Work of a limb, by the prime that it is computed modulo.
class Arithmetic {
 public:
  explicit Arithmetic(const scheme::Parameters& parameters)
      : parameters_(parameters),
        n_(static_cast<double>(parameters.n())),
        k_(parameters.special_limbs()),
        l_(parameters.limbs(0)),
        d_((l_ + parameters.digit_limbs() - 1) / parameters.digit_limbs()) {}

  double microseconds() const { return 1e6 * seconds_; }
  int k() const { return k_; }
  int l() const { return l_; }

  /// Of limbs first .. first + count - 1 of P and Q, so many polynomials each.
  void transform(int first, int count, int polynomials) {
    for (int t = first; t < first + count; ++t) {
      const double butterflies = n_ / 2 * parameters_.log_n();
      seconds_ += polynomials * butterflies / (fast(t) ? 1.91e12 : 0.78e12);
    }
  }
  /// `products` a coefficient.
  void sums(int first, int count, int products) {
    for (int t = first; t < first + count; ++t) seconds_ += n_ * products / (fast(t) ? 2.0e12 : 1.0e12);
  }

  void decompose() { transform(k_, l_, 1); }
  void mod_up() {
    const int a = parameters_.digit_limbs();
    for (int t = 0; t < k_ + l_; ++t) {
      const int own = t < k_ ? -1 : (t - k_) / a;
      const int own_limbs = own < 0 ? 0 : std::min(a, l_ - own * a);
      transform(t, 1, d_ - (own < 0 ? 0 : 1));
      sums(t, 1, l_ - own_limbs);
    }
  }
  void product() { sums(0, k_ + l_, 2 * d_); }
  void mod_down(int polynomials) {
    transform(0, k_, polynomials);
    transform(k_, l_, polynomials);
    sums(k_, l_, k_ * polynomials);
  }
  void switch_key() {
    decompose();
    mod_up();
    product();
    mod_down(2);
  }
  void rescale() {
    transform(k_ + l_ - 1, 1, 2);
    transform(k_, l_ - 1, 2);
  }

 private:
  bool fast(int t) const {
    const auto& primes = t < k_ ? parameters_.p() : parameters_.q();
    return primes[static_cast<std::size_t>(t < k_ ? t : t - k_)].bits() <= 49;
  }

  const scheme::Parameters& parameters_;
  double n_;
  int k_, l_, d_;
  double seconds_ = 0;
};

constexpr int kRotations = 8, kDiagonals = 64;

}  // namespace

std::optional<double> goal(std::string_view set, std::string_view operation) {
  const auto* const found = std::ranges::find_if(
      kGoals, [&](const Goal& goal) { return goal.set == set && goal.operation == operation; });
  return found == std::end(kGoals) ? std::nullopt : std::optional(found->microseconds);
}

double arithmetic_floor(const scheme::Parameters& parameters, std::string_view operation) {
  Arithmetic work(parameters);
  if (operation.ends_with(" transform")) work.transform(work.k(), work.l(), 2);
  if (operation == "rescale") work.rescale();
  if (operation == "rotate" || operation == "multiply + relinearize") work.switch_key();
  if (operation == "multiply + relin + rescale") {
    // The dropped limb's transforms are one more special limb's.
    work.switch_key();
    work.transform(work.k() + work.l() - 1, 1, 2);
  }
  if (operation.ends_with("rotations, hoisted")) {
    work.decompose();
    work.mod_up();
    for (int i = 0; i < kRotations; ++i) {
      work.product();
      work.mod_down(2);
    }
  }
  if (operation.starts_with("linear_transform")) {
    std::vector<std::int64_t> diagonals;
    for (int i = 0; i < kDiagonals; ++i) diagonals.push_back(i);
    const scheme::LinearTransform transform(parameters, diagonals);
    work.decompose();
    work.mod_up();
    for (std::size_t i = 1; i < transform.babies().size(); ++i) work.product();
    work.sums(0, work.k() + work.l(), 2 * kDiagonals);
    for (std::size_t i = 1; i < transform.giants().size(); ++i) {
      work.mod_down(1);
      work.decompose();
      work.mod_up();
      work.product();
    }
    work.mod_down(2);
  }
  return work.microseconds();
}

}  // namespace fheres::bench
