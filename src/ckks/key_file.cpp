#include <algorithm>

#include <fmt/format.h>

#include <fheres/ckks/key_file.hpp>

#include "ckks/secret_state.hpp"

namespace fheres::ckks {

/// Reaches into keys for files.
struct KeyFiles {
  static SecretKey::State& state(const SecretKey& secret) { return *secret.state_; }
  /// With the ntt of these coefficients, and no document's seed as its origin.
  static SecretKey secret(const Context& host, const SecretWords& ternary) {
    auto state = std::make_unique<SecretKey::State>(host.basis());
    host.backend().lift(ternary.integers().data(), state->view(), {});
    host.backend().forward(state->view(), {});
    return SecretKey(std::move(state));
  }
  static std::vector<std::uint64_t>& words(PublicKey& key) { return key.words_; }
};

namespace {

constexpr std::string_view kSecretFormat = "fheres/secret-key/v1";
constexpr std::string_view kPublicFormat = "fheres/public-key/v1";

Tensor secret_tensor(const Context& host) {
  return {.name = "secret", .dtype = "I8", .shape = {host.basis().n()}};
}

Tensor public_tensor(const Context& host) {
  return {.name = "public",
          .dtype = "U64",
          .shape = {static_cast<std::uint64_t>(host.basis().q_limbs()), 2, host.basis().n()}};
}

std::map<std::string, std::string> metadata_of(const Context& host, std::string_view format) {
  return {{"format", std::string(format)}, {"parameters", host.parameters().id()}};
}

/// The bytes of the one tensor that the file has.
std::span<const std::byte> only_tensor(const TensorFile& file, const Context& host, std::string_view format,
                                       const Tensor& expected) {
  const auto refuse = [&](const std::string& why) {
    throw FileError(fmt::format("{}: {}", file.path().string(), why));
  };
  if (const std::string& its = file.metadata("format"); its != format) {
    refuse(fmt::format("its format is `{}`, expected `{}`", its.substr(0, 40), format));
  }
  if (const std::string& id = file.metadata("parameters"); id != host.parameters().id()) {
    throw scheme::ParameterError(fmt::format("{}: it was made for parameters {}, these are {}",
                                             file.path().string(), id.substr(0, 40), host.parameters().id()));
  }
  const Tensor* found = file.find(expected.name);
  if (found == nullptr || file.tensors().size() != 1) {
    refuse(fmt::format("it has {} tensors, expected `{}` alone", file.tensors().size(), expected.name));
  }
  if (found->dtype != expected.dtype || found->shape != expected.shape) {
    refuse(fmt::format("tensor `{}` is {} [{}], expected {} [{}]", found->name, found->dtype,
                       fmt::join(found->shape, ", "), expected.dtype, fmt::join(expected.shape, ", ")));
  }
  return file.bytes(*found);
}

}  // namespace

void save_secret(const Context& host, const SecretKey& secret, const std::filesystem::path& path) {
  const ring::Basis& basis = host.basis();
  const std::uint64_t prime = basis.prime(0).value;
  const SecretWords coefficients(basis.n());
  const ring::View one = ring::dense_view(coefficients.data(), 0, 1, 1, basis.n());
  host.backend().inverse(KeyFiles::state(secret).view().limb_range(0, 1), one, {});
  const SecretWords packed((basis.n() + 7) / 8);
  const std::span<std::byte> bytes =
      std::as_writable_bytes(std::span(packed.data(), packed.size())).first(basis.n());
  // 0, 1 and p - 1: without a branch on the secret.
  for (std::size_t i = 0; i < basis.n(); ++i) {
    const std::uint64_t x = coefficients.data()[i];
    const auto negative = static_cast<std::uint64_t>(0) - static_cast<std::uint64_t>(x > prime / 2);
    bytes[i] = static_cast<std::byte>(x - (prime & negative));
  }
  TensorWriter writer(path, {secret_tensor(host)}, metadata_of(host, kSecretFormat),
                      OutputFile::Access::owner);
  writer.write(bytes);
  writer.finish();
}

SecretKey load_secret(const Context& host, const std::filesystem::path& path) {
  const ring::Basis& basis = host.basis();
  const TensorFile file(path);
  const std::span<const std::byte> bytes = only_tensor(file, host, kSecretFormat, secret_tensor(host));
  const SecretWords ternary(basis.n());
  for (std::size_t i = 0; i < basis.n(); ++i) {
    const auto value = static_cast<std::int8_t>(bytes[i]);
    if (value < -1 || value > 1) {
      throw FileError(fmt::format("{}: coefficient {} is no -1, 0 or 1", path.string(), i));
    }
    ternary.integers()[i] = value;
  }
  return KeyFiles::secret(host, ternary);
}

void save_public(const Context& host, const PublicKey& key, const std::filesystem::path& path) {
  TensorWriter writer(path, {public_tensor(host)}, metadata_of(host, kPublicFormat));
  writer.write(std::as_bytes(key.words()));
  writer.finish();
}

PublicKey load_public(const Context& host, const std::filesystem::path& path) {
  const ring::Basis& basis = host.basis();
  const TensorFile file(path);
  const std::span<const std::byte> bytes = only_tensor(file, host, kPublicFormat, public_tensor(host));
  PublicKey key;
  std::vector<std::uint64_t>& words = KeyFiles::words(key);
  words.resize(bytes.size() / sizeof(std::uint64_t));
  std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(std::span(words)).begin());
  for (int limb = 0; limb < basis.q_limbs(); ++limb) {
    const std::uint64_t* row = words.data() + static_cast<std::size_t>(limb) * 2 * basis.n();
    const std::uint64_t largest = *std::max_element(row, row + 2 * basis.n());
    const std::uint64_t prime = basis.prime(basis.special_limbs() + limb).value;
    if (largest >= prime) {
      throw FileError(fmt::format("{}: it has the residue {} in limb {}, expected less than {}",
                                  path.string(), largest, limb, prime));
    }
  }
  return key;
}

}  // namespace fheres::ckks
