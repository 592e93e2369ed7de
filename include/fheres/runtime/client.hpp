#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <fheres/ckks/decryptor.hpp>
#include <fheres/ckks/encoder.hpp>
#include <fheres/ckks/encryptor.hpp>
#include <fheres/ckks/key_generator.hpp>
#include <fheres/runtime/run_report.hpp>
#include <fheres/workload/value.hpp>

namespace fheres::runtime {

/// The key owner's half: makes keys, encrypts inputs, decrypts results, on the host and outside of every budget. The
/// secret is made when something first needs it, and never leaves it. From a seed, the same document gives the same
/// bytes on every machine. Not thread safe.
class Client {
 public:
  Client(const scheme::Parameters& parameters, std::optional<std::uint64_t> seed);

  /// The bytes of a declared value: encrypted, encoded, or a key, under its client_name and in its type's form.
  std::vector<std::byte> make(const workload::Value& value);
  /// Real slots of a ciphertext's bytes.
  std::vector<double> decrypt(const scheme::ValueType& type, std::span<const std::byte> bytes);
  /// Encodes a plaintext's message, for sources. Thread safe.
  std::vector<std::byte> encode(const workload::Value& value) const;

  /// What all of this took so far.
  const ClientRun& spent() const { return spent_; }

 private:
  /// What needs the secret.
  struct Owner {
    Owner(const ckks::Context& host, const ckks::Randomness& randomness);
    ckks::KeyGenerator keys;
    ckks::SecretKey secret;
    ckks::Encryptor encryptor;
    ckks::Decryptor decryptor;
  };
  Owner& owner();

  ckks::Context host_;
  ckks::Encoder encoder_;
  ckks::Randomness randomness_;
  std::optional<Owner> owner_;
  ClientRun spent_;
};

}  // namespace fheres::runtime
