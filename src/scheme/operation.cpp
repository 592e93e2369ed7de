#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/scheme/operation.hpp>
#include <fheres/scheme/sizes.hpp>

namespace fheres::scheme {
namespace {

struct Row {
  Operation operation;
  std::string_view name;
  int operands;
  KeyUse key;
  enum Beside { nothing, plaintext, scalar } beside;  // the second operand, or what stands for one
  bool in_place;
};

constexpr std::array<Row, 20> kOperations{{
    {Operation::add, "add", 2, KeyUse::none, Row::nothing, true},
    {Operation::sub, "sub", 2, KeyUse::none, Row::nothing, true},
    {Operation::negate, "negate", 1, KeyUse::none, Row::nothing, true},
    {Operation::add_plain, "add_plain", 2, KeyUse::none, Row::plaintext, true},
    {Operation::sub_plain, "sub_plain", 2, KeyUse::none, Row::plaintext, true},
    {Operation::plain_sub, "plain_sub", 2, KeyUse::none, Row::plaintext, true},
    {Operation::add_scalar, "add_scalar", 1, KeyUse::none, Row::scalar, true},
    {Operation::sub_scalar, "sub_scalar", 1, KeyUse::none, Row::scalar, true},
    {Operation::scalar_sub, "scalar_sub", 1, KeyUse::none, Row::scalar, true},
    {Operation::multiply, "multiply", 2, KeyUse::optional, Row::nothing, false},
    {Operation::multiply_plain, "multiply_plain", 2, KeyUse::none, Row::plaintext, true},
    {Operation::multiply_scalar, "multiply_scalar", 1, KeyUse::none, Row::scalar, true},
    {Operation::multiply_rescale, "multiply_rescale", 2, KeyUse::required, Row::nothing, false},
    {Operation::square, "square", 1, KeyUse::optional, Row::nothing, false},
    {Operation::square_rescale, "square_rescale", 1, KeyUse::required, Row::nothing, false},
    {Operation::relinearize, "relinearize", 1, KeyUse::required, Row::nothing, false},
    {Operation::rescale, "rescale", 1, KeyUse::none, Row::nothing, false},
    {Operation::mod_switch, "mod_switch", 1, KeyUse::none, Row::nothing, false},
    {Operation::rotate, "rotate", 1, KeyUse::required, Row::nothing, false},
    {Operation::conjugate, "conjugate", 1, KeyUse::required, Row::nothing, false},
}};

const Row& row_of(Operation operation) {
  const Row& row = kOperations[static_cast<std::size_t>(operation)];
  FHERES_CHECK(row.operation == operation);
  return row;
}

/// One application of an operation: its operands, and the checks that several operations share.
class Application {
 public:
  Application(const Parameters& parameters, Operation operation, std::span<const ValueType> operands,
              const ValueType* key, int group, const Scalar* scalar)
      : parameters_(parameters),
        row_(row_of(operation)),
        operands_(operands),
        key_(key),
        group_(group),
        scalar_(scalar) {
    check_kinds();
    check_key();
    check_scalar();
  }

  Signature infer() const;

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw StateError(fmt::format("{}: {}", row_.name, why));
  }

  const ValueType& operand(std::size_t i) const { return operands_[i]; }
  int level() const { return operands_[0].level; }

  void check_kinds() const {
    if (static_cast<int>(operands_.size()) != row_.operands) {
      refuse(fmt::format("it has {} operands, expected {}", operands_.size(), row_.operands));
    }
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const ValueType& type = operands_[i];
      const Kind expected = i == 1 && row_.beside == Row::plaintext ? Kind::plaintext : Kind::ciphertext;
      if (type.kind != expected) {
        refuse(fmt::format("operand {} is a {}, expected a {}", i + 1, name(type.kind), name(expected)));
      }
      if (is_seeded(type)) refuse(fmt::format("operand {} is seeded, expected a full one", i + 1));
      if (type.domain != Domain::ntt) {
        refuse(fmt::format("operand {} is in the coefficient domain, expected the ntt domain", i + 1));
      }
      if (type.kind == Kind::plaintext &&
          (type.plaintext_form != PlaintextForm::prepared || type.basis != Basis::q)) {
        refuse(fmt::format("operand {} is not a prepared plaintext over Q", i + 1));
      }
      if (type.level < 0 || type.level > parameters_.max_level()) {
        refuse(fmt::format("operand {} has level {}, expected 0 to {}", i + 1, type.level,
                           parameters_.max_level()));
      }
    }
  }

  void check_key() const {
    if (!key_) {
      if (row_.key == KeyUse::required) refuse("it has no key, expected one");
      return;
    }
    if (row_.key == KeyUse::none) refuse(fmt::format("it has a {}, expected no key", name(key_->kind)));
    const Kind expected = row_.operation == Operation::rotate      ? Kind::rotation_key
                          : row_.operation == Operation::conjugate ? Kind::conjugation_key
                                                                   : Kind::relinearization_key;
    if (key_->kind != expected) {
      refuse(fmt::format("its key is a {}, expected a {}", name(key_->kind), name(expected)));
    }
    if (key_->key_form != KeyForm::full) refuse("its key is seeded, expected a full one");
    if (key_->level > level()) {
      refuse(fmt::format("operand 1 has level {}, and the key serves levels {} to {}", level(), key_->level,
                         parameters_.max_level()));
    }
  }

  void check_scalar() const {
    if (row_.beside == Row::scalar && !scalar_) refuse("it has no scalar, expected one");
    if (row_.beside != Row::scalar && scalar_) {
      refuse(fmt::format("it has the scalar {}, expected none", scalar_->value));
    }
  }

  void need_components(std::size_t i, int expected) const {
    if (operand(i).components != expected) {
      refuse(
          fmt::format("operand {} has {} components, expected {}", i + 1, operand(i).components, expected));
    }
  }

  void need_equal_levels() const {
    if (operand(0).level != operand(1).level) {
      refuse(fmt::format("operand 1 has level {} and operand 2 level {}, expected equal ones",
                         operand(0).level, operand(1).level));
    }
  }

  void need_equal_scales() const {
    if (operand(0).scale != operand(1).scale) {
      refuse(fmt::format("operand 1 has scale {} and operand 2 scale {}, expected equal ones",
                         operand(0).scale.text(), operand(1).scale.text()));
    }
  }

  /// A plaintext of an earlier level has all the limbs that are needed, and some that are not read.
  void need_plaintext_limbs() const {
    if (operand(1).level > level()) {
      refuse(fmt::format(
          "operand 1 has level {} and the plaintext level {}, expected the plaintext's to be at most "
          "that",
          level(), operand(1).level));
    }
  }

  Signature product(const Scale& scale, int components, double magnitude = 1) const {
    // One bit for the sign, one for a message of magnitude up to 1, and what a factor makes it grow by.
    if (scale.log2() + 2 + std::log2(std::max(1.0, magnitude)) > parameters_.log_q(level())) {
      refuse(fmt::format("the product's scale {}{} does not fit the {:.0f} bits that level {} of {} has",
                         scale.text(), magnitude > 1 ? fmt::format(" times {:.4g}", magnitude) : "",
                         parameters_.log_q(level()), level(), parameters_.max_level()));
    }
    Signature signature{operand(0), 0};
    signature.result.scale = scale;
    signature.result.components = components;
    return signature;
  }

  Signature ciphertext_product(const ValueType& other) const {
    Signature signature = product(operand(0).scale.times(other.scale), key_ ? 2 : 3);
    if (key_) signature.workspace = key_switch_workspace(parameters_, level(), group_);
    return signature;
  }

  void need_scalar_to_fit() const {
    const auto integer = static_cast<double>(integer_of(parameters_, row_.operation, operand(0), *scalar_));
    if (std::log2(std::max(1.0, std::fabs(integer))) + 2 > parameters_.log_q(level())) {
      refuse(fmt::format("the scalar {} at scale {} does not fit the {:.0f} bits that level {} of {} has",
                         scalar_->value, operand(0).scale.text(), parameters_.log_q(level()), level(),
                         parameters_.max_level()));
    }
  }

  Signature scalar_product() const {
    integer_of(parameters_, row_.operation, operand(0), *scalar_);
    return product(operand(0).scale.times(scalar_->scale.value_or(parameters_.canonical_scale(level()))),
                   operand(0).components, std::fabs(scalar_->value));
  }

  /// A product and its rescale in one: the dropped limb of both components stands in the workspace too.
  Signature rescaled_product(const ValueType& other) const {
    const Signature together = ciphertext_product(other);
    Signature signature = rescaled(together.result);
    signature.workspace += together.workspace;
    return signature;
  }

  Signature key_switched() const {
    Signature signature{operand(0), key_switch_workspace(parameters_, level(), group_)};
    signature.result.components = 2;
    return signature;
  }

  void need_a_next_level() const {
    if (level() == parameters_.max_level()) {
      refuse(fmt::format("operand 1 has level {}, the last one: no level is left", level()));
    }
  }

  Signature rescaled(const ValueType& type) const;
  Signature switched_down() const;

  const Parameters& parameters_;
  const Row& row_;
  std::span<const ValueType> operands_;
  const ValueType* key_;
  int group_;
  const Scalar* scalar_;
};

Signature Application::rescaled(const ValueType& type) const {
  need_a_next_level();
  const std::uint64_t prime = parameters_.prime(parameters_.limbs(level()) - 1).value;
  Signature signature{type, rescale_workspace(parameters_, type.components)};
  signature.result.level = level() + 1;
  signature.result.scale = type.scale.over(prime);
  // Half of the fresh scale's bits would be gone: this is no product, and what is left is mostly noise.
  if (signature.result.scale.log2() < parameters_.scale_bits() / 2.0) {
    refuse(fmt::format(
        "operand 1 has scale {} and is no product: dividing by a prime near 2^{:.0f} would leave no scale",
        type.scale.text(), std::log2(static_cast<double>(prime))));
  }
  return signature;
}

/// Down one level. With a canonical scale the dropped prime pays for the constant that makes the result
/// canonical too; with any other scale, and where scales are managed by hand, the limb just goes.
Signature Application::switched_down() const {
  need_a_next_level();
  Signature signature{operand(0), 0};
  signature.result.level = level() + 1;
  if (parameters_.scale_management() == ScaleManagement::automatic &&
      operand(0).scale == parameters_.canonical_scale(level())) {
    signature.result.scale = parameters_.canonical_scale(level() + 1);
    signature.workspace = rescale_workspace(parameters_, operand(0).components);
  } else if (operand(0).scale.log2() + 2 > parameters_.log_q(level() + 1)) {
    refuse(fmt::format("operand 1 has scale {}, which does not fit the {:.0f} bits of level {}",
                       operand(0).scale.text(), parameters_.log_q(level() + 1), level() + 1));
  }
  return signature;
}

Signature Application::infer() const {
  switch (row_.operation) {
    case Operation::add:
    case Operation::sub:
      need_equal_levels();
      need_equal_scales();
      need_components(1, operand(0).components);
      return {operand(0), 0};
    case Operation::negate:
      return {operand(0), 0};
    case Operation::add_scalar:
    case Operation::sub_scalar:
    case Operation::scalar_sub:
      need_scalar_to_fit();
      return {operand(0), 0};
    case Operation::add_plain:
    case Operation::sub_plain:
    case Operation::plain_sub:
      need_plaintext_limbs();
      need_equal_scales();
      return {operand(0), 0};
    case Operation::multiply:
    case Operation::multiply_rescale:
      need_equal_levels();
      need_components(0, 2);
      need_components(1, 2);
      return row_.operation == Operation::multiply ? ciphertext_product(operand(1))
                                                   : rescaled_product(operand(1));
    case Operation::square:
      need_components(0, 2);
      return ciphertext_product(operand(0));
    case Operation::square_rescale:
      need_components(0, 2);
      return rescaled_product(operand(0));
    case Operation::multiply_scalar:
      return scalar_product();
    case Operation::multiply_plain:
      need_plaintext_limbs();
      return product(operand(0).scale.times(operand(1).scale), operand(0).components);
    case Operation::relinearize:
      need_components(0, 3);
      return key_switched();
    case Operation::rotate:
    case Operation::conjugate:
      need_components(0, 2);
      return key_switched();
    case Operation::rescale:
      return rescaled(operand(0));
    case Operation::mod_switch:
      return switched_down();
  }
  FHERES_CHECK(false);
}

}  // namespace

std::span<const Operation> operations() {
  static const auto all = [] {
    std::array<Operation, kOperations.size()> list{};
    std::ranges::transform(kOperations, list.begin(), [](const Row& row) { return row.operation; });
    return list;
  }();
  return all;
}

std::string_view name(Operation operation) { return row_of(operation).name; }

std::optional<Operation> operation_named(std::string_view name) {
  for (const Row& row : kOperations) {
    if (row.name == name) return row.operation;
  }
  return std::nullopt;
}

int operand_count(Operation operation) { return row_of(operation).operands; }
bool takes_plaintext(Operation operation) { return row_of(operation).beside == Row::plaintext; }
bool takes_scalar(Operation operation) { return row_of(operation).beside == Row::scalar; }
int levels_down(Operation operation) {
  return operation == Operation::rescale || operation == Operation::mod_switch ||
                 operation == Operation::multiply_rescale || operation == Operation::square_rescale
             ? 1
             : 0;
}
bool works_in_place(Operation operation) { return row_of(operation).in_place; }
KeyUse key_use(Operation operation) { return row_of(operation).key; }

__int128 integer_of(const Parameters& parameters, Operation operation, const ValueType& operand,
                    const Scalar& scalar) {
  const bool factor = operation == Operation::multiply_scalar;
  const Scale scale =
      factor ? scalar.scale.value_or(parameters.canonical_scale(operand.level)) : operand.scale;
  const double integer = std::nearbyint(scalar.value * scale.to_double());
  if (!(std::fabs(integer) < 0x1p126)) {
    throw StateError(fmt::format("{}: the scalar {} at scale {} is {:.3g}, expected less than 2^126",
                                 name(operation), scalar.value, scale.text(), integer));
  }
  return static_cast<__int128>(integer);
}

Signature infer(const Parameters& parameters, Operation operation, std::span<const ValueType> operands,
                const ValueType* key, int group, const Scalar* scalar) {
  return Application(parameters, operation, operands, key, group, scalar).infer();
}

}  // namespace fheres::scheme
