#include "operations.hpp"

#include <cstring>
#include <random>

#include <fheres/scheme/sizes.hpp>

namespace fheres::bench {
namespace {

constexpr std::size_t kPlain = 4, kKey = 5, kWorkspace = 6;

ring::View polynomials(const scheme::Parameters& parameters, const ckks::CiphertextRef& value) {
  return ring::dense_view(value.data(), parameters.special_limbs(), parameters.limbs(value.type().level),
                          value.type().components, parameters.n());
}

}  // namespace

Operands::Operands(const scheme::Parameters& parameters, std::shared_ptr<memory::Driver> driver,
                   memory::Location at)
    : parameters_(parameters), driver_(std::move(driver)), at_(at) {
  const Bytes ciphertext = scheme::bytes_of(parameters, scheme::ciphertext_type(parameters));
  const Bytes plaintext =
      scheme::bytes_of(parameters, scheme::plaintext_type(parameters, 0, parameters.canonical_scale(0)));
  const Bytes key = scheme::bytes_of(parameters, scheme::relinearization_key_type());
  for (Bytes size : {ciphertext, ciphertext, ciphertext, ciphertext, plaintext, key,
                     scheme::key_switch_workspace(parameters, 0, 0)}) {
    offsets_.push_back(bytes_);
    bytes_ += size;
  }
  offsets_.push_back(bytes_);
  data_ = driver_->allocate(at_, bytes_);
}

Operands::~Operands() { driver_->deallocate(at_, data_, bytes_); }

std::span<std::byte> Operands::piece(std::size_t index) const {
  return {data_ + offsets_[index], offsets_[index + 1] - offsets_[index]};
}

void Operands::randomize(const ring::Basis& basis, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::memset(data_, 0xa5, bytes_);
  const auto fill = [&](std::size_t index, int first_prime, int limbs) {
    const std::span<std::byte> storage = piece(index);
    auto* words = reinterpret_cast<std::uint64_t*>(storage.data());
    const std::size_t per_limb = storage.size() / sizeof(std::uint64_t) / static_cast<std::size_t>(limbs);
    for (int limb = 0; limb < limbs; ++limb) {
      const std::uint64_t q = basis.prime(first_prime + limb).value;
      for (std::size_t i = 0; i < per_limb; ++i) *words++ = random() % q;
    }
  };
  const int k = basis.special_limbs(), l = basis.q_limbs();
  for (std::size_t index : {std::size_t{0}, std::size_t{1}, std::size_t{2}, kPlain}) fill(index, k, l);
  fill(kKey, 0, k + l);
}

void Operands::copy_from(const Operands& host, const memory::Stream& stream) {
  driver_->copy(stream, {at_, data_, bytes_}, {host.at_, host.data_, bytes_});
  driver_->synchronize(stream);
}

scheme::ValueType Operands::product_type() const {
  scheme::ValueType type = scheme::ciphertext_type(parameters_);
  type.scale = type.scale.times(type.scale);
  return type;
}

ckks::CiphertextRef Operands::ciphertext(std::size_t index, const scheme::ValueType& type) const {
  return {parameters_, type, piece(index).first(scheme::bytes_of(parameters_, type))};
}

ckks::PlaintextRef Operands::plain() const {
  return {parameters_, scheme::plaintext_type(parameters_, 0, parameters_.canonical_scale(0)), piece(kPlain)};
}

ckks::KeyRef Operands::rotation_key() const {
  return {parameters_, scheme::rotation_key_type(parameters_, 1), piece(kKey)};
}

ckks::KeyRef Operands::relinearization_key() const {
  return {parameters_, scheme::relinearization_key_type(), piece(kKey)};
}

std::vector<Operation> operations(const scheme::Parameters& parameters) {
  const scheme::ValueType type = scheme::ciphertext_type(parameters);
  const Bytes ciphertext = scheme::bytes_of(parameters, type);
  const Bytes key = scheme::bytes_of(parameters, scheme::relinearization_key_type());
  const Bytes lower = scheme::bytes_of(parameters, scheme::ciphertext_type(parameters, 1));
  const Bytes workspace = scheme::key_switch_workspace(parameters, 0, 0);
  using ckks::Evaluator;
  using memory::Stream;

  std::vector<Operation> list;
  list.push_back({"inverse transform", 2 * ciphertext,
                  [](const Evaluator& e, const Operands& o, const Stream& s) {
                    e.context().backend().inverse(polynomials(o.parameters(), o.a()),
                                                  polynomials(o.parameters(), o.out(o.a().type())), s);
                  },
                  ciphertext});
  // In place, so what it transforms differs from run to run; the check runs it once on equal residues.
  list.push_back({"forward transform", 2 * ciphertext,
                  [](const Evaluator& e, const Operands& o, const Stream& s) {
                    e.context().backend().forward(polynomials(o.parameters(), o.out(o.a().type())), s);
                  },
                  ciphertext});
  list.push_back({"add", 3 * ciphertext,
                  [](const Evaluator& e, const Operands& o, const Stream& s) {
                    e.add(o.a(), o.b(), o.out(o.a().type()), s);
                  },
                  ciphertext});
  list.push_back({"multiply_plain", 2 * ciphertext + ciphertext / 2,
                  [](const Evaluator& e, const Operands& o, const Stream& s) {
                    e.multiply_plain(o.a(), o.plain(), o.out(o.product_type()), s);
                  },
                  ciphertext});
  list.push_back({"rescale", ciphertext + lower,
                  [](const Evaluator& e, const Operands& o, const Stream& s) {
                    const scheme::ValueType in[] = {o.product_type()};
                    const scheme::Signature signature =
                        scheme::infer(o.parameters(), scheme::Operation::rescale, in);
                    e.rescale(o.product(), o.out(signature.result), o.workspace(signature.workspace), s);
                  },
                  lower});
  list.push_back({"rotate", 2 * ciphertext + key,
                  [workspace](const Evaluator& e, const Operands& o, const Stream& s) {
                    e.rotate(o.a(), o.rotation_key(), o.out(o.a().type()), o.workspace(workspace), s);
                  },
                  ciphertext});
  list.push_back({"multiply + relinearize", 3 * ciphertext + key,
                  [workspace](const Evaluator& e, const Operands& o, const Stream& s) {
                    e.multiply(o.a(), o.b(), o.relinearization_key(), o.out(o.product_type()),
                               o.workspace(workspace), s);
                  },
                  ciphertext});
  return list;
}

}  // namespace fheres::bench
