#pragma once

#include <string_view>

#include <fheres/ckks/context.hpp>
#include <fheres/ckks/keys.hpp>
#include <fheres/ckks/randomness.hpp>

namespace fheres::ckks {

/// Makes keys, on the host. Every key has a public seed of its own for its uniform half: digit j in prime i is
/// polynomial j of ring::Backend::expand, as ntt-domain residues, so that any limb and any digit expands alone. From a
/// document's seed the same name, kind, steps and level give the same key, and two that differ in any of these share
/// nothing: neither the uniform half nor the errors.
///
/// A key is never made again with the same uniform half and other errors, or for another secret: that would give the
/// secret away. So keys from a document's seed are made only for the secret that the same seed gave: scheme::ParameterError.
class KeyGenerator {
 public:
  /// `host` is a context whose back end computes on host memory.
  KeyGenerator(Context host, Randomness randomness);

  SecretKey secret_key() const;
  PublicKey public_key(const SecretKey& secret) const;

  /// A key of the type's kind, for levels `type.level` and deeper, in the type's form. Both forms are the same key:
  /// the full one is the seeded one expanded (ckks/expansion), bit for bit. `name` is the value's.
  /// scheme::ParameterError for a type that is no key's, or of no level.
  SwitchingKey switching_key(const SecretKey& secret, const scheme::ValueType& type,
                             std::string_view name) const;
  /// The same in full form. rotation_key: moves slot i to slot i + steps; steps of any sign, taken modulo the
  /// slots; a multiple of the slots is scheme::ParameterError.
  SwitchingKey rotation_key(const SecretKey& secret, std::int64_t steps, int level,
                            std::string_view name) const;
  SwitchingKey conjugation_key(const SecretKey& secret, int level, std::string_view name) const;
  SwitchingKey relinearization_key(const SecretKey& secret, int level, std::string_view name) const;

 private:
  Context host_;
  Randomness randomness_;
};

}  // namespace fheres::ckks
