#include <array>
#include <stdexcept>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/ckks/evaluator.hpp>

#include "ckks/hoisting.hpp"
#include "ckks/key_switch.hpp"
#include "ckks/linear_transform.hpp"
#include "ckks/rescaled_product.hpp"
#include "ckks/validate.hpp"
#include "ckks/views.hpp"

namespace fheres::ckks {
namespace {

using scheme::Operation;

/// One checked operation: its operands as views of the ring.
class Step {
 public:
  Step(const Context& context, const Operands& operands, const CiphertextRef& out, Workspace workspace,
       int group, const memory::Stream& stream)
      : context_(context),
        backend_(context.backend()),
        operands_(operands),
        out_type_(out.type()),
        out_(ring_view(context, out)),
        workspace_(reinterpret_cast<std::uint64_t*>(workspace.data())),
        group_(group),
        stream_(stream) {}

  void run(Operation operation) const;

 private:
  ring::ConstView in(std::size_t i) const { return ring_view(context_, operands_.ciphertexts[i]); }
  // The first limbs of a plaintext that may have more.
  ring::ConstView plain() const {
    return ring_view(context_, *operands_.plaintext).limb_range(0, out_.limbs);
  }

  void product(ring::ConstView a, ring::ConstView b) const {
    if (operands_.key == nullptr) return backend_.tensor(a, b, out_, stream_);
    const ring::Source last{a.polynomial_range(1, 1), {}, b.polynomial_range(1, 1)};
    switch_key(context_, last, *operands_.key, {a, {}, b}, out_, workspace_, group_, stream_);
  }

  __int128 integer(Operation operation) const {
    return scheme::integer_of(context_.parameters(), operation, operands_.ciphertexts[0].type(),
                              *operands_.scalar);
  }

  void relinearize() const {
    const ring::Source last{in(0).polynomial_range(2, 1), {}, {}};
    switch_key(context_, last, *operands_.key, {in(0).polynomial_range(0, 2), {}, {}}, out_, workspace_,
               group_, stream_);
  }

  void automorphism(ring::Automorphism turn) const {
    const ring::Source last{in(0).polynomial_range(1, 1), turn, {}};
    switch_key(context_, last, *operands_.key, {in(0).polynomial_range(0, 1), turn, {}}, out_, workspace_,
               group_, stream_);
  }

  void rescale(std::uint64_t multiplier) const {
    const ring::ConstView a = in(0);
    const ring::View last = ring::dense_view(workspace_, a.first_prime + a.limbs - 1, 1, a.polynomials,
                                             static_cast<std::size_t>(context_.parameters().n()));
    backend_.rescale(a, multiplier, out_, last, stream_);
  }

  // Where the scale stays, a limb goes and nothing else happens (scheme::infer).
  void switch_down() const {
    if (operands_.ciphertexts[0].type().scale != out_type_.scale) return rescale(correction());
    backend_.copy(in(0).limb_range(0, out_.limbs), out_, stream_);
  }

  // What a ciphertext is multiplied by so that the rescale that follows lands on the next canonical scale:
  // the integer nearest to S_(i+1) q / S_i, which is S_i.
  std::uint64_t correction() const {
    const scheme::Parameters& parameters = context_.parameters();
    const int level = out_type_.level - 1;
    return (parameters.canonical_scale(level).times(scheme::Scale::power_of_two(1)).whole() + 1) / 2;
  }

  const Context& context_;
  const ring::Backend& backend_;
  const Operands& operands_;
  scheme::ValueType out_type_;
  ring::View out_;
  std::uint64_t* workspace_;
  int group_;
  const memory::Stream& stream_;
};

void Step::run(Operation operation) const {
  switch (operation) {
    case Operation::add:
      return backend_.add(in(0), in(1), out_, stream_);
    case Operation::sub:
      return backend_.subtract(in(0), in(1), out_, stream_);
    case Operation::negate:
      return backend_.negate(in(0), out_, stream_);
    case Operation::add_plain:
      return backend_.add(in(0), plain(), out_, stream_);
    case Operation::sub_plain:
      return backend_.subtract(in(0), plain(), out_, stream_);
    case Operation::plain_sub:
      backend_.negate(in(0), out_, stream_);
      return backend_.add(out_, plain(), out_, stream_);
    case Operation::add_scalar:
      return backend_.add_scalar(in(0), integer(operation), out_, stream_);
    case Operation::sub_scalar:
      return backend_.add_scalar(in(0), -integer(operation), out_, stream_);
    case Operation::scalar_sub:
      backend_.negate(in(0), out_, stream_);
      return backend_.add_scalar(out_, integer(operation), out_, stream_);
    case Operation::multiply_plain:
      return backend_.multiply(in(0), plain(), out_, stream_);
    case Operation::multiply_scalar:
      return backend_.multiply_scalar(in(0), integer(operation), out_, stream_);
    case Operation::multiply_rescale:
      return multiply_and_rescale(context_, in(0), in(1), *operands_.key, out_, workspace_, group_, stream_);
    case Operation::square_rescale:
      return multiply_and_rescale(context_, in(0), in(0), *operands_.key, out_, workspace_, group_, stream_);
    case Operation::multiply:
      return product(in(0), in(1));
    case Operation::square:
      return product(in(0), in(0));
    case Operation::relinearize:
      return relinearize();
    case Operation::rescale:
      return rescale(1);
    case Operation::mod_switch:
      return switch_down();
    case Operation::rotate:
    case Operation::conjugate:
      return automorphism(automorphism_of(context_, operands_.key->type()));
  }
  FHERES_CHECK(false);
}

}  // namespace

Evaluator::Evaluator(Context context, int group) : context_(std::move(context)), group_(group) {
  if (group < 0) throw std::invalid_argument(fmt::format("a group has {} limbs, expected 0 or more", group));
}

void Evaluator::apply(Operation operation, const Operands& operands, const CiphertextRef& out,
                      Workspace workspace, const Stream& stream) const {
  validate(context_, operation, operands, out, workspace, group_);
  const Step step(context_, operands, out, workspace, group_, stream);
  context_.backend().queue_as_one(stream, [&] { step.run(operation); });
}

void Evaluator::add(const CiphertextView& a, const CiphertextView& b, const CiphertextRef& out,
                    const Stream& stream) const {
  apply(Operation::add, {std::array{a, b}}, out, {}, stream);
}

void Evaluator::sub(const CiphertextView& a, const CiphertextView& b, const CiphertextRef& out,
                    const Stream& stream) const {
  apply(Operation::sub, {std::array{a, b}}, out, {}, stream);
}

void Evaluator::negate(const CiphertextView& a, const CiphertextRef& out, const Stream& stream) const {
  apply(Operation::negate, {std::array{a}}, out, {}, stream);
}

void Evaluator::add_plain(const CiphertextView& a, const PlaintextView& b, const CiphertextRef& out,
                          const Stream& stream) const {
  apply(Operation::add_plain, {std::array{a}, &b}, out, {}, stream);
}

void Evaluator::sub_plain(const CiphertextView& a, const PlaintextView& b, const CiphertextRef& out,
                          const Stream& stream) const {
  apply(Operation::sub_plain, {std::array{a}, &b}, out, {}, stream);
}

void Evaluator::plain_sub(const CiphertextView& a, const PlaintextView& b, const CiphertextRef& out,
                          const Stream& stream) const {
  apply(Operation::plain_sub, {std::array{a}, &b}, out, {}, stream);
}

void Evaluator::add_scalar(const CiphertextView& a, const scheme::Scalar& b, const CiphertextRef& out,
                           const Stream& stream) const {
  apply(Operation::add_scalar, {std::array{a}, nullptr, nullptr, &b}, out, {}, stream);
}

void Evaluator::sub_scalar(const CiphertextView& a, const scheme::Scalar& b, const CiphertextRef& out,
                           const Stream& stream) const {
  apply(Operation::sub_scalar, {std::array{a}, nullptr, nullptr, &b}, out, {}, stream);
}

void Evaluator::scalar_sub(const CiphertextView& a, const scheme::Scalar& b, const CiphertextRef& out,
                           const Stream& stream) const {
  apply(Operation::scalar_sub, {std::array{a}, nullptr, nullptr, &b}, out, {}, stream);
}

void Evaluator::multiply_scalar(const CiphertextView& a, const scheme::Scalar& b, const CiphertextRef& out,
                                const Stream& stream) const {
  apply(Operation::multiply_scalar, {std::array{a}, nullptr, nullptr, &b}, out, {}, stream);
}

void Evaluator::multiply_plain(const CiphertextView& a, const PlaintextView& b, const CiphertextRef& out,
                               const Stream& stream) const {
  apply(Operation::multiply_plain, {std::array{a}, &b}, out, {}, stream);
}

void Evaluator::multiply(const CiphertextView& a, const CiphertextView& b, const CiphertextRef& out,
                         const Stream& stream) const {
  apply(Operation::multiply, {std::array{a, b}}, out, {}, stream);
}

void Evaluator::square(const CiphertextView& a, const CiphertextRef& out, const Stream& stream) const {
  apply(Operation::square, {std::array{a}}, out, {}, stream);
}

void Evaluator::multiply(const CiphertextView& a, const CiphertextView& b, const KeyView& key,
                         const CiphertextRef& out, Workspace workspace, const Stream& stream) const {
  apply(Operation::multiply, {std::array{a, b}, nullptr, &key}, out, workspace, stream);
}

void Evaluator::square(const CiphertextView& a, const KeyView& key, const CiphertextRef& out,
                       Workspace workspace, const Stream& stream) const {
  apply(Operation::square, {std::array{a}, nullptr, &key}, out, workspace, stream);
}

void Evaluator::multiply_rescale(const CiphertextView& a, const CiphertextView& b, const KeyView& key,
                                 const CiphertextRef& out, Workspace workspace, const Stream& stream) const {
  apply(Operation::multiply_rescale, {std::array{a, b}, nullptr, &key}, out, workspace, stream);
}

void Evaluator::square_rescale(const CiphertextView& a, const KeyView& key, const CiphertextRef& out,
                               Workspace workspace, const Stream& stream) const {
  apply(Operation::square_rescale, {std::array{a}, nullptr, &key}, out, workspace, stream);
}

void Evaluator::relinearize(const CiphertextView& a, const KeyView& key, const CiphertextRef& out,
                            Workspace workspace, const Stream& stream) const {
  apply(Operation::relinearize, {std::array{a}, nullptr, &key}, out, workspace, stream);
}

void Evaluator::rescale(const CiphertextView& a, const CiphertextRef& out, Workspace workspace,
                        const Stream& stream) const {
  apply(Operation::rescale, {std::array{a}}, out, workspace, stream);
}

void Evaluator::mod_switch(const CiphertextView& a, const CiphertextRef& out, Workspace workspace,
                           const Stream& stream) const {
  apply(Operation::mod_switch, {std::array{a}}, out, workspace, stream);
}

void Evaluator::rotate(const CiphertextView& a, const KeyView& key, const CiphertextRef& out,
                       Workspace workspace, const Stream& stream) const {
  apply(Operation::rotate, {std::array{a}, nullptr, &key}, out, workspace, stream);
}

void Evaluator::conjugate(const CiphertextView& a, const KeyView& key, const CiphertextRef& out,
                          Workspace workspace, const Stream& stream) const {
  apply(Operation::conjugate, {std::array{a}, nullptr, &key}, out, workspace, stream);
}

void Evaluator::rotate_many(const CiphertextView& a, std::span<const KeyView> keys,
                            std::span<const CiphertextRef> outs, Workspace workspace,
                            const Stream& stream) const {
  validate_rotations(context_, a, keys, outs, workspace, group_);
  context_.backend().queue_as_one(stream, [&] {
    rotate_hoisted(context_, ring_view(context_, a), keys, outs,
                   reinterpret_cast<std::uint64_t*>(workspace.data()), group_, stream);
  });
}

void Evaluator::run(const scheme::Circuit& circuit, const CiphertextView& a, std::span<const KeyView> keys,
                    const CiphertextRef& out, Workspace workspace, const Stream& stream) const {
  validate_circuit(context_, circuit, a, keys, out, workspace, group_);
  const scheme::Parameters& parameters = context_.parameters();
  const auto result_of = [&](int step) {
    const scheme::Circuit::Step& made = circuit.steps()[static_cast<std::size_t>(step)];
    const scheme::ValueType& type = made.signature.result;
    std::span<std::byte> place{reinterpret_cast<std::byte*>(out.data()), scheme::bytes_of(parameters, type)};
    if (made.result_at) place = workspace.subspan(*made.result_at, place.size());
    return CiphertextRef(parameters, type, place);
  };
  const auto run_steps = [&] {
    for (std::size_t i = 0; i < circuit.steps().size(); ++i) {
      const scheme::Circuit::Step& step = circuit.steps()[i];
      const auto read = [&](int operand) {
        return operand == scheme::Circuit::kInput ? a : CiphertextView(result_of(operand));
      };
      const std::array in{read(step.operands[0]),
                          step.operands[1] == scheme::Circuit::kNone ? a : read(step.operands[1])};
      const std::size_t count = step.operands[1] == scheme::Circuit::kNone ? 1 : 2;
      const KeyView* key =
          step.key == scheme::Circuit::kNone ? nullptr : &keys[static_cast<std::size_t>(step.key)];
      apply(step.operation, {std::span(in).first(count), nullptr, key, step.scalar ? &*step.scalar : nullptr},
            result_of(static_cast<int>(i)), workspace.subspan(step.scratch_at, step.signature.workspace),
            stream);
    }
  };
  context_.backend().queue_as_one(stream, run_steps);
}

void Evaluator::linear_transform(const scheme::LinearTransform& transform, const CiphertextView& a,
                                 std::span<const PlaintextView> diagonals, std::span<const KeyView> keys,
                                 const CiphertextRef& out, Workspace workspace, const Stream& stream) const {
  validate_transform(transform, a, diagonals, keys, out, workspace);
  context_.backend().queue_as_one(stream, [&] {
    transform_slots(context_, transform, a, diagonals, keys, out,
                    reinterpret_cast<std::uint64_t*>(workspace.data()), stream);
  });
}

void Evaluator::expand(const PlaintextView& compact, const PlaintextRef& out, const Stream& stream) const {
  validate_expansion(context_, compact, out);
  const ring::View view = ring_view(context_, out);
  context_.backend().queue_as_one(stream, [&] {
    context_.backend().lift(reinterpret_cast<const std::int64_t*>(compact.data()), view, stream);
    context_.backend().forward(view, stream);
  });
}

}  // namespace fheres::ckks
