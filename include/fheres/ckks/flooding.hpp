#pragma once

#include <fheres/ckks/context.hpp>
#include <fheres/ckks/plaintext.hpp>
#include <fheres/ckks/randomness.hpp>

namespace fheres::ckks {

/// Adds noise to a decrypted plaintext before it is shown to anybody but the key's owner: what a result errs by tells of
/// the secret (Li and Micciancio, "On the security of homomorphic encryption on approximate numbers", 2021). Each
/// coefficient gets an integer drawn evenly from [-2^bits, 2^bits), out of the seed. Where the error of a coefficient is
/// at most 2^(bits - s), results that differ by their errors alone are told apart with probability at most N 2^-s.
///
/// scheme::ParameterError unless 0 <= bits <= 62 and the level has two bits more than that.
void flood(const Context& host, Plaintext& plaintext, int bits, const Seed& seed);

/// The standard deviation that this adds to every slot, in units of the message.
double flooding_deviation(const scheme::Parameters& parameters, const scheme::Scale& scale, int bits);

}  // namespace fheres::ckks
