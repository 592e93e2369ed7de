#pragma once

#include <string_view>

#include <fheres/ckks/context.hpp>
#include <fheres/ckks/keys.hpp>
#include <fheres/ckks/randomness.hpp>

namespace fheres::ckks {

/// Makes keys, on the host. Every key has a public seed of its own for its uniform half: coefficient t of
/// digit j in prime i (special primes first, then Q) is the t-th little-endian 128-bit word of the ChaCha20
/// stream (seed, nonce (j, i)) modulo the prime, taken as ntt-domain residues. From a document's seed the
/// same name, kind, steps and level give the same key, and two that differ in any of these share nothing.
class KeyGenerator {
 public:
  /// `host` is a context whose back end computes on host memory.
  KeyGenerator(Context host, Randomness randomness);

  SecretKey secret_key() const;
  PublicKey public_key(const SecretKey& secret) const;

  /// Keys in full form for levels `level` and deeper. rotation_key: moves slot i to slot i + steps; steps of
  /// any sign, taken modulo the slots; a multiple of the slots is scheme::ParameterError. `name` is the
  /// value's.
  SwitchingKey rotation_key(const SecretKey& secret, std::int64_t steps, int level,
                            std::string_view name) const;
  SwitchingKey conjugation_key(const SecretKey& secret, int level, std::string_view name) const;
  SwitchingKey relinearization_key(const SecretKey& secret, int level, std::string_view name) const;

 private:
  SwitchingKey switching_key(const SecretKey& secret, const scheme::ValueType& type,
                             std::string_view name) const;

  Context host_;
  Randomness randomness_;
};

}  // namespace fheres::ckks
