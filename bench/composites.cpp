#include "composites.hpp"

#include <map>

#include <fmt/format.h>

#include <fheres/scheme/polynomial.hpp>
#include <fheres/scheme/rotations.hpp>

namespace fheres::bench {
namespace {

using ckks::Evaluator;
using memory::Stream;

constexpr int kRotations = 8;
constexpr int kDiagonals = 64;

std::vector<ckks::KeyView> keys_of(const Operands& operands, std::span<const scheme::ValueType> types) {
  std::vector<ckks::KeyView> keys;
  for (std::size_t i = 0; i < types.size(); ++i) keys.push_back(operands.key(types[i], static_cast<int>(i)));
  return keys;
}

Bytes key_bytes(const scheme::Parameters& parameters) {
  return scheme::bytes_of(parameters, scheme::relinearization_key_type());
}

Operation hoisted(const scheme::Parameters& parameters) {
  const scheme::ValueType type = scheme::ciphertext_type(parameters);
  const Bytes ciphertext = scheme::bytes_of(parameters, type);
  std::vector<scheme::ValueType> types;
  for (int i = 0; i < kRotations; ++i) types.push_back(scheme::rotation_key_type(parameters, i + 1));
  const Bytes workspace = scheme::infer_rotate_many(parameters, type, types).workspace;
  return {fmt::format("{} rotations, hoisted", kRotations),
          (1 + kRotations) * ciphertext + kRotations * key_bytes(parameters),
          [types, workspace](const Evaluator& e, const Operands& o, const Stream& s) {
            std::vector<ckks::CiphertextRef> outs;
            for (int i = 0; i < kRotations; ++i) outs.push_back(o.out(o.a().type(), i));
            e.rotate_many(o.a(), keys_of(o, types), outs, o.workspace(workspace), s);
          },
          ciphertext,
          {.results = kRotations, .keys = kRotations, .workspace = workspace}};
}

Operation transform(const scheme::Parameters& parameters) {
  std::vector<std::int64_t> diagonals;
  for (int i = 0; i < kDiagonals; ++i) diagonals.push_back(i);
  const auto shape = std::make_shared<const scheme::LinearTransform>(parameters, diagonals);
  const std::vector<scheme::ValueType> keys = shape->keys(0);
  const scheme::ValueType type = scheme::ciphertext_type(parameters);
  const scheme::ValueType plain = scheme::plaintext_type(parameters, 0, parameters.canonical_scale(0),
                                                         scheme::PlaintextForm::prepared_qp);
  const scheme::Signature signature =
      shape->infer(type, std::vector<scheme::ValueType>(kDiagonals, plain), keys);
  const Bytes ciphertext = scheme::bytes_of(parameters, type);
  return {
      fmt::format("linear_transform, {} diagonals", kDiagonals),
      2 * ciphertext + kDiagonals * scheme::bytes_of(parameters, plain) + keys.size() * key_bytes(parameters),
      [shape, keys, signature](const Evaluator& e, const Operands& o, const Stream& s) {
        std::vector<ckks::PlaintextView> plaintexts;
        for (int i = 0; i < kDiagonals; ++i) plaintexts.push_back(o.plain(i));
        e.linear_transform(*shape, o.a(), plaintexts, keys_of(o, keys), o.out(signature.result),
                           o.workspace(signature.workspace), s);
      },
      ciphertext,
      {.keys = static_cast<int>(keys.size()),
       .plaintexts = kDiagonals,
       .form = scheme::PlaintextForm::prepared_qp,
       .workspace = signature.workspace}};
}

// All coefficients other than zero, in the Chebyshev basis.
Operation polynomial(const scheme::Parameters& parameters, int degree) {
  std::vector<double> coefficients;
  for (int i = 0; i <= degree; ++i) coefficients.push_back(1.0 / (i + 1));
  const std::vector<scheme::ValueType> keys{scheme::relinearization_key_type()};
  const scheme::ValueType type = scheme::ciphertext_type(parameters);
  const auto make = [=](int group) {
    return scheme::polynomial(parameters, type, coefficients, scheme::PolynomialBasis::chebyshev, keys,
                              group);
  };
  const scheme::Signature signature = make(0).signature();
  // One for each group size, made when it is first used: that is not what is measured.
  const auto circuits = std::make_shared<std::map<int, scheme::Circuit>>();
  const Bytes result = scheme::bytes_of(parameters, signature.result);
  return {fmt::format("polynomial, degree {}", degree),
          scheme::bytes_of(parameters, type) + result + key_bytes(parameters),
          [make, circuits, keys](const Evaluator& e, const Operands& o, const Stream& s) {
            auto found = circuits->find(e.group());
            if (found == circuits->end()) found = circuits->emplace(e.group(), make(e.group())).first;
            const scheme::Signature its = found->second.signature();
            e.run(found->second, o.a(), keys_of(o, keys), o.out(its.result), o.workspace(its.workspace), s);
          },
          result,
          {.workspace = signature.workspace}};
}

}  // namespace

std::vector<Operation> composites(const scheme::Parameters& parameters) {
  std::vector<Operation> list;
  list.push_back(hoisted(parameters));
  list.push_back(transform(parameters));
  for (int degree : {15, 63}) {
    if (scheme::polynomial_depth(degree) <= parameters.max_level())
      list.push_back(polynomial(parameters, degree));
  }
  return list;
}

}  // namespace fheres::bench
