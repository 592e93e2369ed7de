#pragma once

#include <fheres/ckks/ciphertext.hpp>
#include <fheres/ckks/context.hpp>
#include <fheres/ckks/keys.hpp>
#include <fheres/memory/stream.hpp>

namespace fheres::ckks {

/// A seeded value as the full one that operations take, on the context's device: the stored half is copied, the uniform
/// half comes out of the seed behind it (ring::Backend::expand; polynomial j is the key's digit j, or 0 in a
/// ciphertext). Bit for bit what KeyGenerator and SecretEncryptor give in full form.
///
/// `full` may be of a deeper level than `seeded`: only its limbs and digits are expanded. A ciphertext keeps its scale
/// then. Queues work on `stream` as ring::Backend does; needs no workspace; the two do not overlap. Throws
/// scheme::ParameterError where the forms, kinds, steps, scales or levels do not match. Thread safe.
void expand(const Context& context, const KeyView& seeded, const KeyRef& full, const memory::Stream& stream);
void expand(const Context& context, const CiphertextView& seeded, const CiphertextRef& full,
            const memory::Stream& stream);

}  // namespace fheres::ckks
