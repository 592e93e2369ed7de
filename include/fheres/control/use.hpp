#pragma once

#include <exception>
#include <functional>
#include <map>
#include <string_view>

#include <fheres/control/decision.hpp>
#include <fheres/control/request.hpp>
#include <fheres/memory/stream.hpp>
#include <fheres/residency/lease.hpp>
#include <fheres/residency/scope.hpp>

namespace fheres::control {

/// The stream that reads the values of a cuda location.
using ConsumerStreams = std::map<Location, memory::Stream>;

/// A request that is being served: its scope is open and its endpoints are leased (R62). Made by Controller::use.
/// Move-only; one thread at a time.
class Use {
 public:
  Use(Use&&) noexcept = default;
  Use& operator=(Use&&) = delete;
  /// As close, silent.
  ~Use();

  /// The value at an endpoint of the request. LifetimeClosedError after close, HandleError for what was not required.
  residency::BlockView value(HandleId value, Location at) const;
  residency::BlockView operator[](const Requirement& endpoint) const {
    return value(endpoint.value, endpoint.at);
  }

  /// The request's reservation of that label, while open; as Scope::reservation.
  residency::Reservation& reservation(std::string_view label) { return scope_.reservation(label); }
  residency::Reservation& reservation(std::string_view label, Location at) {
    return scope_.reservation(label, at);
  }
  /// The lease of a requested location: for further consumer streams. std::invalid_argument for another location.
  residency::Lease& lease(Location at);

  /// Releases the leases, then closes the scope. With `wait`, returns when every consumer stream is past this point.
  /// A second close does nothing.
  void close(bool wait = false);
  bool open() const { return scope_.open(); }

  /// Body, then close. An exception of the body is rethrown after close, and what close then threw is exit_error().
  void run(const std::function<void(Use&)>& body);

  // Readable also after close.
  const Decision& decision() const { return decision_; }
  const residency::PlanReport& report() const { return scope_.report(); }
  std::exception_ptr exit_error() const { return exit_error_ ? exit_error_ : scope_.exit_error(); }

 private:
  friend class Controller;
  Use(Decision decision, residency::Scope scope) : decision_(std::move(decision)), scope_(std::move(scope)) {}

  Decision decision_;
  residency::Scope scope_;
  std::map<Location, residency::Lease> leases_;
  std::exception_ptr exit_error_;
};

}  // namespace fheres::control
