#include <array>

#include <fheres/ckks/calculator.hpp>

namespace fheres::ckks {
namespace {

using scheme::Operation;

std::vector<scheme::ValueType> types_of(std::span<const KeyView> keys) {
  std::vector<scheme::ValueType> types;
  for (const KeyView& key : keys) types.push_back(key.type());
  return types;
}

}  // namespace

Calculator::Calculator(Evaluator evaluator, std::shared_ptr<ValueStore> store)
    : evaluator_(std::move(evaluator)), store_(std::move(store)) {}

Calculator::~Calculator() {
  if (workspace_) store_->retire(std::move(workspace_));
}

Workspace Calculator::workspace(Bytes bytes) {
  if (bytes == 0) return {};
  if (!workspace_ || workspace_.bytes() < bytes) {
    // The old one goes first, so that a region needs no room for both.
    if (workspace_) {
      store_->synchronize();
      workspace_ = {};
    }
    workspace_ = store_->allocate(bytes);
  }
  return {workspace_.data(), bytes};
}

Calculator::Value Calculator::apply(Operation operation, const Operands& operands) {
  std::vector<scheme::ValueType> types;
  for (const CiphertextView& operand : operands.ciphertexts) types.push_back(operand.type());
  if (operands.plaintext != nullptr) types.push_back(operands.plaintext->type());
  const scheme::Signature signature =
      scheme::infer(parameters(), operation, types, operands.key == nullptr ? nullptr : &operands.key->type(),
                    evaluator_.group(), operands.scalar);
  const Workspace room = workspace(signature.workspace);
  Value out = make(signature.result);
  evaluator_.apply(operation, operands, out.ref(), room, store_->stream());
  return out;
}

Calculator::Value Calculator::add(const CiphertextView& a, const CiphertextView& b) {
  return apply(Operation::add, {std::array{a, b}});
}
Calculator::Value Calculator::sub(const CiphertextView& a, const CiphertextView& b) {
  return apply(Operation::sub, {std::array{a, b}});
}
Calculator::Value Calculator::negate(const CiphertextView& a) {
  return apply(Operation::negate, {std::array{a}});
}
Calculator::Value Calculator::add(const CiphertextView& a, const PlaintextView& b) {
  return apply(Operation::add_plain, {std::array{a}, &b});
}
Calculator::Value Calculator::sub(const CiphertextView& a, const PlaintextView& b) {
  return apply(Operation::sub_plain, {std::array{a}, &b});
}
Calculator::Value Calculator::sub(const PlaintextView& a, const CiphertextView& b) {
  return apply(Operation::plain_sub, {std::array{b}, &a});
}
Calculator::Value Calculator::add(const CiphertextView& a, const scheme::Scalar& b) {
  return apply(Operation::add_scalar, {std::array{a}, nullptr, nullptr, &b});
}
Calculator::Value Calculator::sub(const CiphertextView& a, const scheme::Scalar& b) {
  return apply(Operation::sub_scalar, {std::array{a}, nullptr, nullptr, &b});
}
Calculator::Value Calculator::sub(const scheme::Scalar& a, const CiphertextView& b) {
  return apply(Operation::scalar_sub, {std::array{b}, nullptr, nullptr, &a});
}
Calculator::Value Calculator::multiply(const CiphertextView& a, const CiphertextView& b) {
  return apply(Operation::multiply, {std::array{a, b}});
}
Calculator::Value Calculator::multiply(const CiphertextView& a, const CiphertextView& b, const KeyView& key) {
  return apply(Operation::multiply, {std::array{a, b}, nullptr, &key});
}
Calculator::Value Calculator::multiply(const CiphertextView& a, const PlaintextView& b) {
  return apply(Operation::multiply_plain, {std::array{a}, &b});
}
Calculator::Value Calculator::multiply(const CiphertextView& a, const scheme::Scalar& b) {
  return apply(Operation::multiply_scalar, {std::array{a}, nullptr, nullptr, &b});
}
Calculator::Value Calculator::multiply_rescale(const CiphertextView& a, const CiphertextView& b,
                                               const KeyView& key) {
  return apply(Operation::multiply_rescale, {std::array{a, b}, nullptr, &key});
}
Calculator::Value Calculator::square(const CiphertextView& a) {
  return apply(Operation::square, {std::array{a}});
}
Calculator::Value Calculator::square(const CiphertextView& a, const KeyView& key) {
  return apply(Operation::square, {std::array{a}, nullptr, &key});
}
Calculator::Value Calculator::square_rescale(const CiphertextView& a, const KeyView& key) {
  return apply(Operation::square_rescale, {std::array{a}, nullptr, &key});
}
Calculator::Value Calculator::relinearize(const CiphertextView& a, const KeyView& key) {
  return apply(Operation::relinearize, {std::array{a}, nullptr, &key});
}
Calculator::Value Calculator::rescale(const CiphertextView& a) {
  return apply(Operation::rescale, {std::array{a}});
}
Calculator::Value Calculator::mod_switch(const CiphertextView& a) {
  return apply(Operation::mod_switch, {std::array{a}});
}
Calculator::Value Calculator::rotate(const CiphertextView& a, const KeyView& key) {
  return apply(Operation::rotate, {std::array{a}, nullptr, &key});
}
Calculator::Value Calculator::conjugate(const CiphertextView& a, const KeyView& key) {
  return apply(Operation::conjugate, {std::array{a}, nullptr, &key});
}

std::vector<Calculator::Value> Calculator::rotate_many(const CiphertextView& a,
                                                       std::span<const KeyView> keys) {
  const scheme::Signature signature =
      scheme::infer_rotate_many(parameters(), a.type(), types_of(keys), evaluator_.group());
  const Workspace room = workspace(signature.workspace);
  std::vector<Value> outs;
  std::vector<CiphertextRef> refs;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    outs.push_back(make(signature.result));
    refs.push_back(outs.back().ref());
  }
  evaluator_.rotate_many(a, keys, refs, room, store_->stream());
  return outs;
}

Calculator::Value Calculator::run(const scheme::Circuit& circuit, const CiphertextView& a,
                                  std::span<const KeyView> keys) {
  const Workspace room = workspace(circuit.signature().workspace);
  Value out = make(circuit.signature().result);
  evaluator_.run(circuit, a, keys, out.ref(), room, store_->stream());
  return out;
}

Calculator::Value Calculator::sum_slots(const CiphertextView& a, std::uint64_t count,
                                        std::span<const KeyView> keys) {
  return run(scheme::sum_slots(parameters(), a.type(), count, types_of(keys), evaluator_.group()), a, keys);
}

Calculator::Value Calculator::polynomial(const CiphertextView& a, std::span<const double> coefficients,
                                         scheme::PolynomialBasis basis, std::span<const KeyView> keys) {
  return run(
      scheme::polynomial(parameters(), a.type(), coefficients, basis, types_of(keys), evaluator_.group()), a,
      keys);
}

Calculator::Value Calculator::linear_transform(const scheme::LinearTransform& transform,
                                               const CiphertextView& a,
                                               std::span<const PlaintextView> diagonals,
                                               std::span<const KeyView> keys) {
  std::vector<scheme::ValueType> plain_types;
  for (const PlaintextView& diagonal : diagonals) plain_types.push_back(diagonal.type());
  const scheme::Signature signature = transform.infer(a.type(), plain_types, types_of(keys));
  const Workspace room = workspace(signature.workspace);
  Value out = make(signature.result);
  evaluator_.linear_transform(transform, a, diagonals, keys, out.ref(), room, store_->stream());
  return out;
}

StoredPlaintext Calculator::expand(const PlaintextView& compact, int level, scheme::PlaintextForm form) {
  if (level < 0 || level > parameters().max_level())
    throw scheme::StateError("expand: the result's level is " + std::to_string(level) + ", expected 0 to " +
                             std::to_string(parameters().max_level()));
  StoredPlaintext out(store_, parameters(),
                      scheme::plaintext_type(parameters(), level, compact.type().scale, form));
  evaluator_.expand(compact, out.ref(), store_->stream());
  return out;
}

void Calculator::copy(const memory::Extent& destination, const memory::Extent& source) {
  memory::Driver& driver = *store_->region()->driver();
  if (!store_->stream()) return driver.copy_host(destination, source);
  driver.copy(store_->stream(), destination, source);
  driver.synchronize(store_->stream());
}

template <Family family>
StoredValue<family> Calculator::store_value(const HostValue<family>& value) {
  StoredValue<family> stored(store_, parameters(), value.type());
  auto* from = const_cast<std::byte*>(value.bytes().data());  // an extent is for reading too
  copy({store_->region()->at(), reinterpret_cast<std::byte*>(stored.ref().data()), value.bytes().size()},
       {memory::Location::pageable_host(), from, value.bytes().size()});
  return stored;
}

template <Family family>
HostValue<family> Calculator::fetch(const StoredValue<family>& value) {
  HostValue<family> fetched(parameters(), value.type());
  auto* from = reinterpret_cast<std::byte*>(const_cast<std::uint64_t*>(value.view().data()));
  copy({memory::Location::pageable_host(), fetched.bytes().data(), fetched.bytes().size()},
       {store_->region()->at(), from, fetched.bytes().size()});
  return fetched;
}

template StoredValue<Family::ciphertext> Calculator::store_value(const HostValue<Family::ciphertext>&);
template StoredValue<Family::plaintext> Calculator::store_value(const HostValue<Family::plaintext>&);
template StoredValue<Family::key> Calculator::store_value(const HostValue<Family::key>&);
template HostValue<Family::ciphertext> Calculator::fetch(const StoredValue<Family::ciphertext>&);
template HostValue<Family::plaintext> Calculator::fetch(const StoredValue<Family::plaintext>&);
template HostValue<Family::key> Calculator::fetch(const StoredValue<Family::key>&);

}  // namespace fheres::ckks
