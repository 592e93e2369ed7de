#include "ckks/linear_transform.hpp"

#include <algorithm>
#include <vector>

#include <fheres/base/check.hpp>
#include <fheres/ring/automorphism.hpp>

#include "ckks/carver.hpp"
#include "ckks/views.hpp"

namespace fheres::ckks {
namespace {

/// Polynomials over P and Q, whose two parts may stand apart, and which parts hold something yet. One that
/// holds nothing stands for zero.
struct Extended {
  ring::View special, q;
  bool has_special = false, has_q = false;

  static Extended dense(ring::View all, int k) {
    return {all.limb_range(0, k), all.limb_range(k, all.limbs - k)};
  }
};

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
        sum_{{}, ring_view(context, out)} {
    const int u = k_ + l_;
    Carver carver(workspace, n_);
    area_ = carver.take(std::max(d_ * u, 2 * l_));
    sum_.special = carver.take(0, k_, 2);
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
    // P a, over Q: what a rotation by 0 steps is among the others.
    backend_.copy(a_, scaled_, stream_);
    for (int s = 0; s < k_; ++s) {
      backend_.multiply_scalar(scaled_, static_cast<ring::SignedWide>(context_.basis().prime(s).value),
                               scaled_, stream_);
    }
    if (!babies_.empty()) make_babies();
    std::size_t next = 0;
    for (const int giant : transform_.giants()) {
      const std::size_t first = next;
      while (next < transform_.diagonals().size() && transform_.diagonals()[next].giant == giant) ++next;
      if (giant == 0) {
        multiply_row(first, next, sum_);
      } else {
        take_giant(giant, first, next);
      }
    }
    finish();
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

  /// One decomposition for all: rotated, P times too large, c0 included.
  void make_babies() const {
    const ring::ConstView c1 = a_.polynomial_range(1, 1);
    backend_.decompose({c1, {}, {}}, digits(), stream_);
    backend_.mod_up(digits(), tile(), stream_);
    const ring::View turned = switched_.limb_range(k_, l_).polynomial_range(0, 1);
    for (const Baby& baby : babies_) {
      const KeyView& key = key_for(baby.steps);
      backend_.hoisted_product(tile(), {c1, turn(baby.steps), {}}, key.data(), digits_of(key), baby.value,
                               stream_);
      backend_.automorphism(scaled_.polynomial_range(0, 1), turn(baby.steps), turned, stream_);
      const ring::View c0 = baby.value.limb_range(k_, l_).polynomial_range(0, 1);
      backend_.add(c0, turned, c0, stream_);
    }
  }

  /// to += product, or to = product where it holds nothing yet.
  void accumulate(ring::ConstView a, ring::ConstView b, ring::View to, bool& holds) const {
    if (holds) {
      backend_.multiply_add(a, b, to, stream_);
    } else {
      backend_.multiply(a, b, to, stream_);
    }
    holds = true;
  }
  void accumulate(ring::ConstView a, ring::View to, bool& holds) const {
    if (holds) {
      backend_.add(to, a, to, stream_);
    } else {
      backend_.copy(a, to, stream_);
    }
    holds = true;
  }

  /// to += the diagonals first .. last - 1 of one giant step, each times its baby.
  void multiply_row(std::size_t first, std::size_t last, Extended& to) const {
    for (std::size_t i = first; i < last; ++i) {
      const ring::ConstView plain = diagonal(i);
      const int steps = transform_.diagonals()[i].baby;
      if (steps == 0) {
        accumulate(scaled_, plain.limb_range(k_, l_), to.q, to.has_q);
        continue;
      }
      const auto baby = std::ranges::find(babies_, steps, &Baby::steps);
      accumulate(baby->value.limb_range(0, k_), plain.limb_range(0, k_), to.special, to.has_special);
      accumulate(baby->value.limb_range(k_, l_), plain.limb_range(k_, l_), to.q, to.has_q);
    }
  }

  /// sum += the row, rotated by the giant step.
  void take_giant(int giant, std::size_t first, std::size_t last) {
    Extended row = Extended::dense(inner_, k_);
    multiply_row(first, last, row);
    const ring::View c1 = row.q.polynomial_range(1, 1);
    if (row.has_special) {
      const ring::View special = row.special.polynomial_range(1, 1);
      backend_.begin_mod_down(special, stream_);
      backend_.mod_down(special, c1, {}, {}, ring::dense_view(area_, k_, l_, 1, n_), stream_);
    } else {
      // Only the row's diagonal for 0 baby steps: P times too large as a whole number, so made again without
      // it.
      backend_.multiply(a_.polynomial_range(1, 1), diagonal(first).limb_range(k_, l_), c1, stream_);
    }
    const KeyView& key = key_for(giant);
    const ring::Source source{c1, turn(giant), {}};
    Extended switched = Extended::dense(switched_, k_);
    backend_.decompose(source, digits(), stream_);
    backend_.switch_whole(digits(), source, key.data(), digits_of(key), tile(), switched.special, switched.q,
                          {}, stream_);
    accumulate(switched.special, sum_.special, sum_.has_special);
    accumulate(switched.q, sum_.q, sum_.has_q);
    // The other component has not been divided, and is only turned.
    if (row.has_special) {
      add_turned(row.special.polynomial_range(0, 1), giant, switched.special.polynomial_range(0, 1),
                 sum_.special.polynomial_range(0, 1));
    }
    add_turned(row.q.polynomial_range(0, 1), giant, switched.q.polynomial_range(0, 1),
               sum_.q.polynomial_range(0, 1));
  }

  void add_turned(ring::ConstView in, int steps, ring::View turned, ring::View to) const {
    backend_.automorphism(in, turn(steps), turned, stream_);
    backend_.add(to, turned, to, stream_);
  }

  void finish() {
    if (!sum_.has_special) {
      // Diagonal 0 alone: a product by a plaintext.
      backend_.multiply(a_, diagonal(0).limb_range(k_, l_), sum_.q, stream_);
      return;
    }
    backend_.begin_mod_down(sum_.special, stream_);
    backend_.mod_down(sum_.special, sum_.q, {}, {}, ring::dense_view(area_, k_, l_, 2, n_), stream_);
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
  Extended sum_;                   // the Q part is the result's own storage
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
