#include <vector>

#include <doctest/doctest.h>

#include <fheres/scheme/operation.hpp>
#include <fheres/scheme/presets.hpp>
#include <fheres/scheme/sizes.hpp>

#include "scheme/set_f.hpp"

using namespace fheres;
using namespace fheres::scheme;

namespace {

ValueType at_level(Kind kind, int level) {
  ValueType type;
  type.kind = kind;
  type.level = level;
  type.scale = is_key(kind) ? Scale() : set_f().canonical_scale(level);
  if (kind == Kind::rotation_key) type.steps = 1;
  return type;
}
ValueType ciphertext(int level = 0) { return at_level(Kind::ciphertext, level); }
ValueType plaintext(int level = 0) { return at_level(Kind::plaintext, level); }

Signature run(Operation operation, const std::vector<ValueType>& operands, const ValueType* key = nullptr) {
  return infer(set_f(), operation, operands, key);
}

std::string refusal(Operation operation, const std::vector<ValueType>& operands,
                    const ValueType* key = nullptr) {
  try {
    run(operation, operands, key);
  } catch (const StateError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a product by a plaintext rescales to the next level's canonical scale") {
  for (int level = 0; level < set_f().max_level(); ++level) {
    const Signature product = run(Operation::multiply_plain, {ciphertext(level), plaintext(level)});
    CHECK(product.workspace == 0);
    const Signature rescaled = run(Operation::rescale, {product.result});
    CHECK(rescaled.result == ciphertext(level + 1));
    CHECK(rescaled.workspace == rescale_workspace(set_f(), 2));
  }
}

TEST_CASE("so x*w + y just works after y has come down to the level") {
  const ValueType product = run(Operation::multiply_plain, {ciphertext(), plaintext()}).result;
  const ValueType x = run(Operation::rescale, {product}).result;
  const ValueType y = run(Operation::mod_switch, {ciphertext()}).result;
  CHECK(run(Operation::add, {x, y}).result == ciphertext(1));
}

TEST_CASE("going down a level keeps a canonical scale canonical and any other as it is") {
  const Signature canonical = run(Operation::mod_switch, {ciphertext(2)});
  CHECK(canonical.result == ciphertext(3));
  CHECK(canonical.workspace == rescale_workspace(set_f(), 2));
  const ValueType product = run(Operation::multiply_plain, {ciphertext(), plaintext()}).result;
  const Signature other = run(Operation::mod_switch, {product});
  CHECK(other.result.level == 1);
  CHECK(other.result.scale == product.scale);
  CHECK(other.workspace == 0);
  ValueType late = run(Operation::multiply_plain, {ciphertext(6), plaintext(6)}).result;
  CHECK(refusal(Operation::mod_switch, {late}).find("does not fit the 60 bits of level 7") !=
        std::string::npos);
  CHECK(refusal(Operation::mod_switch, {ciphertext(7)}).find("no level is left") != std::string::npos);
}

TEST_CASE("operands of a sum need one level and one scale") {
  CHECK(refusal(Operation::add, {ciphertext(0), ciphertext(1)}) ==
        "add: operand 1 has level 0 and operand 2 level 1, expected equal ones");
  const ValueType product = run(Operation::multiply_plain, {ciphertext(), plaintext()}).result;
  CHECK(refusal(Operation::sub, {product, ciphertext()}) ==
        "sub: operand 1 has scale 2^80 and operand 2 scale 2^40, expected equal ones");
  CHECK(refusal(Operation::add_plain, {product, plaintext()}).find("scale 2^80") != std::string::npos);
}

TEST_CASE("a plaintext of an earlier level serves with its leading limbs, one of a later level does not") {
  CHECK(refusal(Operation::multiply_plain, {ciphertext(2), plaintext(1)}).empty());
  CHECK(refusal(Operation::multiply_plain, {ciphertext(1), plaintext(2)}) ==
        "multiply_plain: operand 1 has level 1 and the plaintext level 2, expected the plaintext's to be at "
        "most that");
}

TEST_CASE("a rotation needs a rotation key that serves the level") {
  ValueType key = at_level(Kind::rotation_key, 2);
  CHECK(run(Operation::rotate, {ciphertext(2)}, &key).workspace == key_switch_workspace(set_f(), 2, 0));
  CHECK(run(Operation::rotate, {ciphertext(5)}, &key).result == ciphertext(5));
  CHECK(refusal(Operation::rotate, {ciphertext(1)}, &key) ==
        "rotate: operand 1 has level 1, and the key serves levels 2 to 7");
  CHECK(refusal(Operation::rotate, {ciphertext(1)}) == "rotate: it has no key, expected one");
  ValueType wrong = at_level(Kind::relinearization_key, 0);
  CHECK(refusal(Operation::rotate, {ciphertext(1)}, &wrong) ==
        "rotate: its key is a relinearization-key, expected a rotation-key");
  CHECK(refusal(Operation::add, {ciphertext(), ciphertext()}, &key).find("expected no key") !=
        std::string::npos);
}

TEST_CASE("a product of ciphertexts has three components until a key brings back two") {
  ValueType key = at_level(Kind::relinearization_key, 0);
  const Signature product = run(Operation::multiply, {ciphertext(), ciphertext()});
  CHECK(product.result.components == 3);
  CHECK(product.workspace == 0);
  CHECK(run(Operation::relinearize, {product.result}, &key).result ==
        run(Operation::square, {ciphertext()}, &key).result);
  ValueType rotation = at_level(Kind::rotation_key, 0);
  CHECK(refusal(Operation::rotate, {product.result}, &rotation) ==
        "rotate: operand 1 has 3 components, expected 2");
}

TEST_CASE("levels and room for the product run out") {
  CHECK(refusal(Operation::rescale, {ciphertext(7)}) ==
        "rescale: operand 1 has level 7, the last one: no level is left");
  CHECK(refusal(Operation::square, {ciphertext(7)}).find("does not fit the 60 bits") != std::string::npos);
  CHECK(refusal(Operation::rescale, {ciphertext(0)}).find("is no product") != std::string::npos);
}

TEST_CASE("operands of the wrong kind, domain or number are named by position") {
  CHECK(refusal(Operation::add, {ciphertext(), plaintext()}) ==
        "add: operand 2 is a plaintext, expected a ciphertext");
  CHECK(refusal(Operation::negate, {ciphertext(), ciphertext()}) == "negate: it has 2 operands, expected 1");
  ValueType coefficients = ciphertext();
  coefficients.domain = Domain::coefficient;
  CHECK(refusal(Operation::negate, {coefficients}).find("operand 1 is in the coefficient domain") !=
        std::string::npos);
}

TEST_CASE("a product that is rescaled at once goes from canonical scale to canonical scale") {
  ValueType key = at_level(Kind::relinearization_key, 0);
  for (int level = 0; level < set_f().max_level(); ++level) {
    const Signature merged = run(Operation::multiply_rescale, {ciphertext(level), ciphertext(level)}, &key);
    CHECK(merged.result == ciphertext(level + 1));
    CHECK(merged.workspace == key_switch_workspace(set_f(), level, 0) + rescale_workspace(set_f(), 2));
    CHECK(levels_down(Operation::multiply_rescale) == 1);
  }
  CHECK(refusal(Operation::square_rescale, {ciphertext(1)}) == "square_rescale: it has no key, expected one");
}

TEST_CASE("a scalar is the integer nearest to it at its scale, and has to fit") {
  const auto scalar_refusal = [](Operation operation, const ValueType& operand,
                                 const Scalar& scalar) -> std::string {
    try {
      infer(set_f(), operation, {&operand, 1}, nullptr, 0, &scalar);
    } catch (const StateError& error) {
      return error.what();
    }
    return "";
  };
  const Scalar half{-0.5, {}};
  CHECK(integer_of(set_f(), Operation::add_scalar, ciphertext(), half) == -(__int128{1} << 39));
  const Scalar three{2.6, Scale::power_of_two(0)};
  CHECK(integer_of(set_f(), Operation::multiply_scalar, ciphertext(), three) == 3);
  const ValueType operand = ciphertext(3);
  const Signature product = infer(set_f(), Operation::multiply_scalar, {&operand, 1}, nullptr, 0, &half);
  CHECK(run(Operation::rescale, {product.result}).result == ciphertext(4));
  CHECK(scalar_refusal(Operation::add_scalar, ciphertext(7), {1e6, {}}) ==
        "add_scalar: the scalar 1000000 at scale 2^40.0000 does not fit the 60 bits that level 7 of 7 has");
  CHECK(scalar_refusal(Operation::multiply_scalar, ciphertext(7), {1e6, Scale::power_of_two(0)})
            .find("times 1e+06 does not fit the 60 bits") != std::string::npos);
  CHECK(
      scalar_refusal(Operation::multiply_scalar, ciphertext(), {1e40, {}}).find("expected less than 2^126") !=
      std::string::npos);
  CHECK(scalar_refusal(Operation::negate, ciphertext(), half) ==
        "negate: it has the scalar -0.5, expected none");
  CHECK(refusal(Operation::add_scalar, {ciphertext()}) == "add_scalar: it has no scalar, expected one");
}

TEST_CASE("every operation's name finds it again") {
  CHECK(operations().size() == 20);
  for (const Operation operation : operations()) {
    CHECK(operation_named(name(operation)) == operation);
    CHECK(operand_count(operation) == (takes_plaintext(operation) ? 2 : operand_count(operation)));
  }
  CHECK_FALSE(operation_named("rotat"));
}
