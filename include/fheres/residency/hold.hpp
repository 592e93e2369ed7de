#pragma once

#include <memory>
#include <vector>

#include <fheres/memory/location.hpp>
#include <fheres/residency/handle.hpp>

namespace fheres::residency {

class Core;

/// Keeps materializations where they are, without access to them (R35). Made by Manager::hold. Move-only;
/// releasing and destroying it never fail and never wait. Thread safe but for moves and destruction.
class Hold {
 public:
  Hold() = default;
  Hold(Hold&& other) noexcept;
  Hold& operator=(Hold&& other) noexcept;
  ~Hold();

  bool active() const;
  memory::Location at() const;
  std::vector<HandleId> handles() const;
  /// A second release does nothing.
  void release() noexcept;

 private:
  friend class Core;
  struct Body;
  explicit Hold(std::shared_ptr<Body> body);
  std::shared_ptr<Body> body_;
};

}  // namespace fheres::residency
