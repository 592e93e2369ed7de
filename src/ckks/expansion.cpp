#include <fmt/format.h>

#include <fheres/ckks/expansion.hpp>

#include "ckks/seeded_layout.hpp"

namespace fheres::ckks {
namespace {

void check(const scheme::ValueType& seeded, const scheme::ValueType& full) {
  const auto refuse = [](const std::string& why) {
    throw scheme::ParameterError(fmt::format("an expansion: {}", why));
  };
  if (!scheme::is_seeded(seeded)) refuse("the source is in full form, expected a seeded one");
  if (scheme::is_seeded(full)) refuse("the result is in seeded form, expected a full one");
  if (full.level < seeded.level) {
    refuse(
        fmt::format("the source has level {}, expected at most the result's {}", seeded.level, full.level));
  }
  scheme::ValueType expected = scheme::full_form(seeded);
  expected.level = full.level;
  if (full == expected) return;
  if (full.kind != seeded.kind || full.steps != seeded.steps) {
    refuse(fmt::format("the source is a {} by {} steps and the result a {} by {}", scheme::name(seeded.kind),
                       seeded.steps, scheme::name(full.kind), full.steps));
  }
  refuse(fmt::format("the source has scale {} and the result {}, or their domains differ",
                     seeded.scale.text(), full.scale.text()));
}

template <Family family>
void expand_value(const Context& context, const ValueView<family, const std::uint64_t>& seeded,
                  const ValueView<family, std::uint64_t>& full, const memory::Stream& stream) {
  check(seeded.type(), full.type());
  const Halves<const std::uint64_t> from = halves(context, seeded);
  const Halves<std::uint64_t> to = halves(context, full);
  context.backend().expand_half(
      from.seed, from.stored.limb_range(0, to.stored.limbs).polynomial_range(0, to.stored.polynomials),
      to.stored, to.uniform, stream);
}

}  // namespace

void expand(const Context& context, const KeyView& seeded, const KeyRef& full, const memory::Stream& stream) {
  expand_value(context, seeded, full, stream);
}

void expand(const Context& context, const CiphertextView& seeded, const CiphertextRef& full,
            const memory::Stream& stream) {
  expand_value(context, seeded, full, stream);
}

}  // namespace fheres::ckks
