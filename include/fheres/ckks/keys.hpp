#pragma once

#include <memory>
#include <span>
#include <vector>

#include <fheres/ckks/context.hpp>
#include <fheres/ckks/value.hpp>

namespace fheres::ckks {

/// A switching key: rotation, conjugation or relinearization. [P limbs, then Q limbs
/// ascending][component][digit][N], ntt domain. Digit j is an encryption (b, a) with b + a s = e + P s' on
/// the limbs of digit j and e elsewhere, where s' is what it switches from. View: read only; Ref: writable.
using KeyView = ValueView<Family::key, const std::uint64_t>;
using KeyRef = ValueView<Family::key, std::uint64_t>;
using SwitchingKey = HostValue<Family::key>;

/// The secret, ternary. Lives in guarded memory that is locked where the system allows and wiped when it is
/// freed; never copied or printed, and stored only by save_secret (ckks/key_file). Move-only.
class SecretKey {
 public:
  SecretKey(SecretKey&&) noexcept;
  SecretKey& operator=(SecretKey&&) noexcept;
  ~SecretKey();

 private:
  friend class KeyGenerator;
  friend class Decryptor;
  friend class SecretEncryptor;
  friend struct KeyFiles;
  struct State;
  explicit SecretKey(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// (b, a) with b + a s = e over all Q limbs: [limb][component][N], ntt domain.
class PublicKey {
 public:
  std::span<const std::uint64_t> words() const { return words_; }

 private:
  friend class KeyGenerator;
  friend struct KeyFiles;
  std::vector<std::uint64_t> words_;
};

}  // namespace fheres::ckks
