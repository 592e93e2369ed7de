#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
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
/// bytes on every machine, whatever the order. Thread safe.
class Client {
 public:
  Client(const scheme::Parameters& parameters, std::optional<std::uint64_t> seed);

  /// The bytes of a declared value: encrypted, encoded, or a key, under its client_name and in its type's form.
  std::vector<std::byte> make(const workload::Value& value);
  /// Real slots of a ciphertext's bytes.
  std::vector<double> decrypt(const scheme::ValueType& type, std::span<const std::byte> bytes);
  /// Encodes a plaintext's message, for sources.
  std::vector<std::byte> encode(const workload::Value& value) const;

  /// What all of this took so far: times in which at least one thread was at it.
  ClientRun spent() const;

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

  /// A kind of work, as time passes: how many are at it, and since when.
  struct Work {
    int at_it = 0;
    std::int64_t since_ns = 0;
    std::int64_t total_ns = 0;
  };
  class Timed;

  ckks::Context host_;
  ckks::Encoder encoder_;
  ckks::Randomness randomness_;
  std::mutex owner_mutex_;
  std::optional<Owner> owner_;
  mutable std::mutex spent_mutex_;
  Work keys_, encryption_, decryption_;
  Bytes bytes_made_ = 0;
};

}  // namespace fheres::runtime
