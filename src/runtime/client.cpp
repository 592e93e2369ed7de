#include <algorithm>

#include <fheres/base/check.hpp>
#include <fheres/base/clock.hpp>
#include <fheres/runtime/client.hpp>

namespace fheres::runtime {
namespace {

template <class Value>
std::vector<std::byte> bytes_of(const Value& value) {
  return {value.bytes().begin(), value.bytes().end()};
}

/// Adds the time of a scope to a counter.
class Timed {
 public:
  explicit Timed(std::int64_t& total) : total_(total) {}
  ~Timed() { total_ += now_ns() - start_; }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  std::int64_t& total_;
  std::int64_t start_ = now_ns();
};

}  // namespace

Client::Owner::Owner(const ckks::Context& host, const ckks::Randomness& randomness)
    : keys(host, randomness),
      secret(keys.secret_key()),
      encryptor(host, keys.public_key(secret), randomness),
      decryptor(host, secret) {}

Client::Client(const scheme::Parameters& parameters, std::optional<std::uint64_t> seed)
    : host_(ckks::Context::on_host(parameters)),
      encoder_(host_),
      randomness_(seed ? ckks::Randomness::from_document(*seed) : ckks::Randomness::from_system()) {}

Client::Owner& Client::owner() {
  if (!owner_) {
    Timed timed(spent_.key_generation_ns);
    owner_.emplace(host_, randomness_);
  }
  return *owner_;
}

std::vector<std::byte> Client::encode(const workload::Value& value) const {
  FHERES_CHECK(value.type && value.message);
  std::vector<double> slots = workload::slots_of(*value.message, host_.parameters().slots());
  if (value.turned_back) std::rotate(slots.begin(), slots.begin() + *value.turned_back, slots.end());
  return bytes_of(encoder_.encode(std::span<const double>(slots), value.type->level, value.type->scale,
                                  {.form = value.type->plaintext_form}));
}

std::vector<std::byte> Client::make(const workload::Value& value) {
  FHERES_CHECK(value.type.has_value());
  const scheme::ValueType& type = *value.type;
  std::vector<std::byte> bytes;
  if (type.kind == scheme::Kind::plaintext) {
    Timed timed(spent_.encryption_ns);
    bytes = encode(value);
  } else if (type.kind == scheme::Kind::ciphertext) {
    FHERES_CHECK(value.message.has_value());
    Owner& its = owner();
    Timed timed(spent_.encryption_ns);
    const std::vector<double> slots = workload::slots_of(*value.message, host_.parameters().slots());
    const ckks::Plaintext plaintext = encoder_.encode(std::span<const double>(slots), type.level, type.scale);
    bytes = bytes_of(its.encryptor.encrypt(plaintext.view(), value.client_name));
  } else {
    Owner& its = owner();
    Timed timed(spent_.key_generation_ns);
    bytes = bytes_of(its.keys.switching_key(its.secret, type, value.client_name));
  }
  spent_.bytes_made += bytes.size();
  return bytes;
}

std::vector<double> Client::decrypt(const scheme::ValueType& type, std::span<const std::byte> bytes) {
  Owner& its = owner();
  Timed timed(spent_.decryption_ns);
  ckks::Ciphertext ciphertext(host_.parameters(), type);
  FHERES_CHECK(ciphertext.bytes().size() == bytes.size());
  std::copy(bytes.begin(), bytes.end(), ciphertext.bytes().begin());
  return encoder_.decode_real(its.decryptor.decrypt(ciphertext.view()).view());
}

}  // namespace fheres::runtime
