#include "operations.hpp"

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include <fheres/scheme/sizes.hpp>

#include "composites.hpp"

namespace fheres::bench {
namespace {

ring::View polynomials(const scheme::Parameters& parameters, const ckks::CiphertextRef& value) {
  return ring::dense_view(value.data(), parameters.special_limbs(), parameters.limbs(value.type().level),
                          value.type().components, parameters.n());
}

}  // namespace

Operands::Operands(const scheme::Parameters& parameters, const Shape& shape,
                   std::shared_ptr<memory::Driver> driver, memory::Location at)
    : parameters_(parameters), shape_(shape), driver_(std::move(driver)), at_(at) {
  const Bytes ciphertext = scheme::bytes_of(parameters, scheme::ciphertext_type(parameters));
  const Bytes plaintext = scheme::bytes_of(
      parameters, scheme::plaintext_type(parameters, 0, parameters.canonical_scale(0), shape.form));
  const Bytes key = scheme::bytes_of(parameters, scheme::relinearization_key_type());
  const auto count = [](int number) { return static_cast<Bytes>(number); };
  bytes_ = (3 + count(shape.results)) * ciphertext + count(shape.plaintexts) * plaintext +
           count(shape.keys) * key + shape.workspace;
  data_ = driver_->allocate(at_, bytes_);
  std::byte* next = data_;
  const auto take = [&](Bytes bytes) {
    const Storage piece{next, bytes};
    next += bytes;
    return piece;
  };
  a_ = take(ciphertext);
  b_ = take(ciphertext);
  product_ = take(ciphertext);
  for (int i = 0; i < shape.results; ++i) results_.push_back(take(ciphertext));
  for (int i = 0; i < shape.plaintexts; ++i) plaintexts_.push_back(take(plaintext));
  for (int i = 0; i < shape.keys; ++i) keys_.push_back(take(key));
  workspace_ = take(shape.workspace);
}

Operands::~Operands() { driver_->deallocate(at_, data_, bytes_); }

void Operands::randomize(const ring::Basis& basis, std::uint64_t seed) {
  // Runs of residues of one prime: gigabytes of them, so every core takes its share.
  struct Run {
    std::uint64_t* words;
    std::size_t count;
    std::uint64_t q;
  };
  std::vector<Run> runs;
  const auto fill = [&](Storage storage, int first_prime, int limbs) {
    auto* words = reinterpret_cast<std::uint64_t*>(storage.data());
    const std::size_t per_limb = storage.size() / sizeof(std::uint64_t) / static_cast<std::size_t>(limbs);
    for (int limb = 0; limb < limbs; ++limb, words += per_limb)
      runs.push_back({words, per_limb, basis.prime(first_prime + limb).value});
  };
  const int k = basis.special_limbs(), l = basis.q_limbs();
  for (const Storage storage : {a_, b_, product_}) fill(storage, k, l);
  const bool extended = shape_.form == scheme::PlaintextForm::prepared_qp;
  for (const Storage storage : plaintexts_) fill(storage, extended ? 0 : k, extended ? k + l : l);
  for (const Storage storage : keys_) fill(storage, 0, k + l);

  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < runs.size(); i = next++) {
      std::mt19937_64 random(seed + i);
      for (std::size_t j = 0; j < runs[i].count; ++j) runs[i].words[j] = random() % runs[i].q;
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) threads.emplace_back(work);
  work();
  threads.clear();
  for (const Storage storage : results_) std::memset(storage.data(), 0xa5, storage.size());
  std::memset(workspace_.data(), 0xa5, workspace_.size());
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

ckks::CiphertextRef Operands::out(const scheme::ValueType& type, int index) const {
  return {parameters_, type,
          results_[static_cast<std::size_t>(index)].first(scheme::bytes_of(parameters_, type))};
}

ckks::PlaintextRef Operands::plain(int index) const {
  return {parameters_, scheme::plaintext_type(parameters_, 0, parameters_.canonical_scale(0), shape_.form),
          plaintexts_[static_cast<std::size_t>(index)]};
}

ckks::KeyView Operands::key(const scheme::ValueType& type, int index) const {
  return {parameters_, type, keys_[static_cast<std::size_t>(index)]};
}

std::vector<std::span<std::byte>> Operands::results(Bytes bytes) const {
  std::vector<Storage> results;
  for (const Storage storage : results_) results.push_back(storage.first(bytes));
  return results;
}

std::vector<Operation> operations(const scheme::Parameters& parameters) {
  const scheme::ValueType type = scheme::ciphertext_type(parameters);
  const Bytes ciphertext = scheme::bytes_of(parameters, type);
  const Bytes key = scheme::bytes_of(parameters, scheme::relinearization_key_type());
  const Bytes lower = scheme::bytes_of(parameters, scheme::ciphertext_type(parameters, 1));
  const Bytes workspace = scheme::key_switch_workspace(parameters, 0, 0);
  using ckks::Evaluator;
  using memory::Stream;

  const Shape simple{.workspace = workspace + scheme::rescale_workspace(parameters, 2)};
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
  list.push_back({"multiply + relin + rescale", 2 * ciphertext + lower + key,
                  [](const Evaluator& e, const Operands& o, const Stream& s) {
                    const scheme::ValueType in[] = {o.a().type(), o.b().type()};
                    const ckks::KeyView relinearization = o.relinearization_key();
                    const scheme::Signature signature = scheme::infer(
                        o.parameters(), scheme::Operation::multiply_rescale, in, &relinearization.type());
                    e.multiply_rescale(o.a(), o.b(), relinearization, o.out(signature.result),
                                       o.workspace(signature.workspace), s);
                  },
                  lower});
  for (Operation& operation : list) operation.shape = simple;
  for (Operation& operation : composites(parameters)) list.push_back(std::move(operation));
  return list;
}

}  // namespace fheres::bench
