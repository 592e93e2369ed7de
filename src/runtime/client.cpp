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

}  // namespace

/// The time of a scope, counted once where several threads do the same kind of work.
class Client::Timed {
 public:
  Timed(Client& client, Work& work) : client_(client), work_(work) {
    const std::lock_guard lock(client_.spent_mutex_);
    if (work_.at_it++ == 0) work_.since_ns = now_ns();
  }
  ~Timed() {
    const std::lock_guard lock(client_.spent_mutex_);
    if (--work_.at_it == 0) work_.total_ns += now_ns() - work_.since_ns;
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  Client& client_;
  Work& work_;
};

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
  const std::lock_guard lock(owner_mutex_);
  if (!owner_) {
    Timed timed(*this, keys_);
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
    Timed timed(*this, encryption_);
    bytes = encode(value);
  } else if (type.kind == scheme::Kind::ciphertext) {
    FHERES_CHECK(value.message.has_value());
    Owner& its = owner();
    Timed timed(*this, encryption_);
    const std::vector<double> slots = workload::slots_of(*value.message, host_.parameters().slots());
    const ckks::Plaintext plaintext = encoder_.encode(std::span<const double>(slots), type.level, type.scale);
    bytes = bytes_of(its.encryptor.encrypt(plaintext.view(), value.client_name));
  } else {
    Owner& its = owner();
    Timed timed(*this, keys_);
    bytes = bytes_of(its.keys.switching_key(its.secret, type, value.client_name));
  }
  const std::lock_guard lock(spent_mutex_);
  bytes_made_ += bytes.size();
  return bytes;
}

ClientRun Client::spent() const {
  const std::lock_guard lock(spent_mutex_);
  return {keys_.total_ns, encryption_.total_ns, decryption_.total_ns, bytes_made_};
}

std::vector<double> Client::decrypt(const scheme::ValueType& type, std::span<const std::byte> bytes) {
  Owner& its = owner();
  Timed timed(*this, decryption_);
  ckks::Ciphertext ciphertext(host_.parameters(), type);
  FHERES_CHECK(ciphertext.bytes().size() == bytes.size());
  std::copy(bytes.begin(), bytes.end(), ciphertext.bytes().begin());
  return encoder_.decode_real(its.decryptor.decrypt(ciphertext.view()).view());
}

}  // namespace fheres::runtime
