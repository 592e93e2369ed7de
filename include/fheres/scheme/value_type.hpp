#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <fheres/base/bytes.hpp>
#include <fheres/scheme/parameters.hpp>
#include <fheres/scheme/scale.hpp>

namespace fheres::scheme {

enum class Kind { ciphertext, plaintext, rotation_key, conjugation_key, relinearization_key };
enum class Domain { coefficient, ntt };
enum class Basis { q, qp };
enum class PlaintextForm { prepared, prepared_qp, compact };
enum class KeyForm { full, seeded };
enum class CiphertextForm { full, seeded };

/// `ciphertext`, `rotation-key`, ...
std::string name(Kind kind);
bool is_key(Kind kind);

/// All there is to know of a CKKS value but its residues. A plain value; which fields matter
/// depends on the kind.
struct ValueType {
  Kind kind = Kind::ciphertext;
  int level = 0;  // of a key: the freshest level that it serves
  Scale scale;    // ciphertext, plaintext
  Domain domain = Domain::ntt;
  Basis basis = Basis::q;
  int components = 2;  // ciphertext: 2, or 3 before relinearization
  PlaintextForm plaintext_form = PlaintextForm::prepared;
  KeyForm key_form = KeyForm::full;
  CiphertextForm ciphertext_form = CiphertextForm::full;  // seeded: fresh, two components
  int steps = 0;  // rotation key: slot i goes to slot i + steps; in [1, slots)
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

/// The types of fresh values, with every field as it has to be: two values of one type compare equal whoever
/// made them. Keys have basis qp, two components and the scale 2^0; plaintexts have one component.
ValueType ciphertext_type(const Parameters& parameters, int level = 0);
/// Forms: `prepared` and `prepared_qp` are residues in the ntt domain, over Q or over P and Q; `compact` is
/// one signed 64-bit word a coefficient, expanded where it is used.
ValueType plaintext_type(const Parameters& parameters, int level, const Scale& scale,
                         PlaintextForm form = PlaintextForm::prepared);
/// Any number of steps: stored modulo the slots. ParameterError for a multiple of the slots.
ValueType rotation_key_type(const Parameters& parameters, std::int64_t steps, int level = 0);
ValueType conjugation_key_type(int level = 0);
ValueType relinearization_key_type(int level = 0);

/// A seeded value has half of the residues and the public seed that the other half expands from (ckks/expansion).
bool is_seeded(const ValueType& type);
/// The same value in the other form: of a key, or of a fresh ciphertext; ParameterError for other values.
ValueType seeded_form(const ValueType& type);
ValueType full_form(const ValueType& type);

/// Bytes of one value, one contiguous block, limb-major:
/// ciphertext [limb][component][N]; plaintext [limb][N], of prepared_qp [P limbs, then Q limbs ascending][N], of compact [N];
/// key [P limbs, then Q limbs ascending][component][digit][N]. Seeded: one component, the
/// first, then 32 bytes of seed: ciphertext [limb][N], key [P limbs, then Q limbs ascending][digit][N].
Bytes bytes_of(const Parameters& parameters, const ValueType& type);

/// The opaque metadata that residency stores with a value, and back. decode throws ParameterError when the
/// text is not such metadata, or was written for other parameters (both ids in the message).
std::string encode_metadata(const Parameters& parameters, const ValueType& type);
ValueType decode_metadata(const Parameters& parameters, const std::string& metadata);

}  // namespace fheres::scheme
