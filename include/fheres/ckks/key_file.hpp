#pragma once

#include <filesystem>

#include <fheres/ckks/context.hpp>
#include <fheres/ckks/keys.hpp>
#include <fheres/ckks/serialize.hpp>

namespace fheres::ckks {

/// The secret, as a file of mode 0600: the tensor `secret`, `I8`, N coefficients of -1, 0 and 1. The only thing of
/// ckks that writes a secret, and only when it is called. Files of values hold none, and no document's seed either.
void save_secret(const Context& host, const SecretKey& secret, const std::filesystem::path& path);
/// FileError where the file is no such file; scheme::ParameterError where it is of other parameters.
SecretKey load_secret(const Context& host, const std::filesystem::path& path);

/// The public encryption key: the tensor `public`, `U64`, [limb][component][N].
void save_public(const Context& host, const PublicKey& key, const std::filesystem::path& path);
/// The same, and FileError for residues that are not below their primes.
PublicKey load_public(const Context& host, const std::filesystem::path& path);

}  // namespace fheres::ckks
