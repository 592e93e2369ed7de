#include "ckks/linear_transform.hpp"

#include <algorithm>
#include <vector>

#include <fheres/base/check.hpp>
#include <fheres/ring/automorphism.hpp>

#include "ckks/carver.hpp"
#include "ckks/views.hpp"

namespace fheres::ckks {
namespace {

class Transform {
 public:
  Transform(const Context& context, const scheme::LinearTransform& transform, const CiphertextView& a,
            std::span<const PlaintextView> diagonals, std::span<const KeyView> keys, const CiphertextRef& out,
            std::uint64_t* workspace, const memory::Stream& stream)
      : context_(context),
        backend_(context.backend()),
        transform_(transform),
        a_(ring_view(context, a)),
        diagonals_(diagonals),
        keys_(keys),
        stream_(stream),
        k_(context.basis().special_limbs()),
        l_(a_.limbs),
        d_(context.basis().digits(l_)),
        n_(context.basis().n()),
        sum_(ring_view(context, out)) {
    const int u = k_ + l_;
    Carver carver(workspace, n_);
    area_ = carver.take(std::max(d_ * u, 2 * l_));
    special_ = carver.take(0, k_, 2);
    scaled_ = carver.take(k_, l_, 2);
    inner_ = carver.take(0, u, 2);
    switched_ = carver.take(0, u, 2);
    for (const int baby : transform.babies()) {
      if (baby != 0) babies_.push_back({baby, carver.take(0, u, 2)});
    }
    std::vector<scheme::ValueType> types, key_types;
    for (const PlaintextView& diagonal : diagonals) types.push_back(diagonal.type());
    for (const KeyView& key : keys) key_types.push_back(key.type());
    FHERES_CHECK(carver.used() == transform.infer(a.type(), types, key_types).workspace);
  }

  void run() {
    if (transform_.diagonals().size() == 1 && transform_.diagonals()[0].index == 0) {
      // A product by a plaintext.
      backend_.multiply(a_, diagonal(0).limb_range(k_, l_), sum_, stream_);
      return;
    }
    scale();
    if (!babies_.empty()) make_babies();
    std::size_t next = 0;
    for (const int giant : transform_.giants()) {
      const std::size_t first = next;
      while (next < transform_.diagonals().size() && transform_.diagonals()[next].giant == giant) ++next;
      if (giant == 0) {
        multiply_row(first, next, special_, sum_);
      } else {
        take_giant(giant, first, next);
      }
    }
    backend_.begin_mod_down(special_, stream_);
    backend_.mod_down(special_, sum_, {}, {}, ring::dense_view(area_, k_, l_, 2, n_), stream_);
  }

 private:
  struct Baby {
    int steps;
    ring::View value;
  };

  ring::View tile() const { return ring::dense_view(area_, 0, k_ + l_, d_, n_); }
  ring::Digits digits() const {
    const ring::View all = tile();
    return {all.at(k_, 0), l_, all.limb_stride, all.polynomial_stride};
  }
  ring::Automorphism turn(int steps) const {
    return {ring::rotation_exponent(steps, context_.basis().log_n())};
  }
  const KeyView& key_for(int steps) const {
    const auto found = std::ranges::find_if(keys_, [&](const KeyView& key) {
      return key.type().kind == scheme::Kind::rotation_key && key.type().steps == steps;
    });
    FHERES_CHECK(found != keys_.end());
    return *found;
  }
  int digits_of(const KeyView& key) const {
    return context_.basis().digits(context_.parameters().limbs(key.type().level));
  }
  ring::ConstView diagonal(std::size_t index) const {
    return ring_view(context_, diagonals_[index]).limb_range(0, k_ + l_);
  }

  /// P a, over Q: what a rotation by 0 steps is among the others. Two primes of P in one factor, where it has room.
  void scale() const {
    const ring::Basis& basis = context_.basis();
    constexpr ring::SignedWide kRoom = static_cast<ring::SignedWide>(1) << 126;
    ring::ConstView from = a_;
    for (int s = 0; s < k_;) {
      auto factor = static_cast<ring::SignedWide>(basis.prime(s++).value);
      while (s < k_ && factor < kRoom / static_cast<ring::SignedWide>(basis.prime(s).value)) {
        factor *= static_cast<ring::SignedWide>(basis.prime(s++).value);
      }
      backend_.multiply_scalar(from, factor, scaled_, stream_);
      from = scaled_;
    }
  }

  /// One decomposition for all: rotated, P times too large, c0 included.
  void make_babies() const {
    const ring::ConstView c1 = a_.polynomial_range(1, 1);
    backend_.decompose({c1, {}, {}}, digits(), stream_);
    backend_.mod_up(digits(), tile(), stream_);
    std::vector<ring::Rotation> rotations;
    for (const Baby& baby : babies_) {
      const KeyView& key = key_for(baby.steps);
      rotations.push_back({turn(baby.steps), key.data(), digits_of(key), baby.value});
    }
    backend_.hoisted_products(tile(), c1, scaled_.polynomial_range(0, 1), rotations, stream_);
  }

  /// (special, q) = the diagonals first .. last - 1 of one giant step, each times its baby.
  void multiply_row(std::size_t first, std::size_t last, ring::View special, ring::View q) const {
    std::vector<ring::Term> terms;
    for (std::size_t i = first; i < last; ++i) {
      const ring::ConstView plain = diagonal(i);
      const int steps = transform_.diagonals()[i].baby;
      if (steps == 0) {
        terms.push_back({scaled_, plain.limb_range(k_, l_)});
      } else {
        terms.push_back({std::ranges::find(babies_, steps, &Baby::steps)->value, plain});
      }
    }
    backend_.sum_products(terms, special, q, stream_);
  }

  /// sum += the row, rotated by the giant step.
  void take_giant(int giant, std::size_t first, std::size_t last) {
    const ring::View q = inner_.limb_range(k_, l_);
    const ring::View c1 = q.polynomial_range(1, 1);
    ring::View c0 = inner_.polynomial_range(0, 1);
    if (last - first == 1 && transform_.diagonals()[first].baby == 0) {
      // P times too large as a whole number: the component that would be divided is made without it.
      const ring::ConstView plain = diagonal(first).limb_range(k_, l_);
      c0 = q.polynomial_range(0, 1);
      backend_.multiply(scaled_.polynomial_range(0, 1), plain, c0, stream_);
      backend_.multiply(a_.polynomial_range(1, 1), plain, c1, stream_);
    } else {
      const ring::View special = inner_.limb_range(0, k_);
      multiply_row(first, last, special, q);
      const ring::View divided = special.polynomial_range(1, 1);
      backend_.begin_mod_down(divided, stream_);
      backend_.mod_down(divided, c1, {}, {}, ring::dense_view(area_, k_, l_, 1, n_), stream_);
    }
    const KeyView& key = key_for(giant);
    const ring::Source source{c1, turn(giant), {}};
    backend_.decompose(source, digits(), stream_);
    backend_.switch_whole(digits(), source, key.data(), digits_of(key), tile(), switched_.limb_range(0, k_),
                          switched_.limb_range(k_, l_), {}, stream_);
    // The other component has not been divided, and is only turned.
    const bool holds = giant != transform_.giants().front();
    backend_.add_turned(switched_, c0, turn(giant), holds, special_, sum_, stream_);
  }

  const Context& context_;
  const ring::Backend& backend_;
  const scheme::LinearTransform& transform_;
  ring::ConstView a_;
  std::span<const PlaintextView> diagonals_;
  std::span<const KeyView> keys_;
  const memory::Stream& stream_;
  int k_, l_, d_;
  std::size_t n_;
  ring::View sum_;                 // over Q, in the result's own storage
  ring::View special_;             // over P
  std::uint64_t* area_ = nullptr;  // the extended tile, and room to divide in
  ring::View scaled_, inner_, switched_;
  std::vector<Baby> babies_;
};

}  // namespace

void transform_slots(const Context& context, const scheme::LinearTransform& transform,
                     const CiphertextView& a, std::span<const PlaintextView> diagonals,
                     std::span<const KeyView> keys, const CiphertextRef& out, std::uint64_t* workspace,
                     const memory::Stream& stream) {
  Transform(context, transform, a, diagonals, keys, out, workspace, stream).run();
}

}  // namespace fheres::ckks
