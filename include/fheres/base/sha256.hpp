#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace fheres {

/// SHA-256 of bytes that may come in pieces; 64 lower-case hexadecimal digits. Names documents and residues in reports.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void add(std::span<const std::byte> bytes);
  /// Ends the hash; add and finish are not called again.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256(std::string_view text);

}  // namespace fheres
