#include <array>

#include <fmt/format.h>
#include <sodium.h>

#include <fheres/base/sha256.hpp>

namespace fheres {

struct Sha256::State {
  crypto_hash_sha256_state hash;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { crypto_hash_sha256_init(&state_->hash); }
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::add(std::span<const std::byte> bytes) {
  crypto_hash_sha256_update(&state_->hash, reinterpret_cast<const unsigned char*>(bytes.data()),
                            bytes.size());
}

std::string Sha256::finish() {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest;
  crypto_hash_sha256_final(&state_->hash, digest.data());
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::string sha256(std::string_view text) {
  Sha256 hash;
  hash.add(std::as_bytes(std::span(text.data(), text.size())));
  return hash.finish();
}

}  // namespace fheres
