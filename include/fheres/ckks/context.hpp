#pragma once

#include <memory>

#include <fheres/ring/backend.hpp>
#include <fheres/scheme/parameters.hpp>

namespace fheres::ckks {

/// Parameters, and the back end that computes with them on one device. Cheap to copy; thread safe.
class Context {
 public:
  /// Throws std::invalid_argument unless the back end's basis is that of the parameters.
  Context(scheme::Parameters parameters, std::shared_ptr<const ring::Backend> backend);
  /// The cpu back end on the calling thread: for the client's half, which always runs on the host.
  static Context on_host(scheme::Parameters parameters);

  const scheme::Parameters& parameters() const { return parameters_; }
  const ring::Backend& backend() const { return *backend_; }
  const ring::Basis& basis() const { return backend_->basis(); }

 private:
  scheme::Parameters parameters_;
  std::shared_ptr<const ring::Backend> backend_;
};

}  // namespace fheres::ckks
