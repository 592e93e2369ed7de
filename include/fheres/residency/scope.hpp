#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include <fheres/memory/stream.hpp>
#include <fheres/residency/explain.hpp>
#include <fheres/residency/plan.hpp>
#include <fheres/residency/reservation.hpp>
#include <fheres/residency/trace.hpp>

namespace fheres::residency {

class Core;

/// Which stream copies to a destination use (R46). A cuda destination takes a stream of that device; a host
/// destination takes the stream of the device that copies come from. Destinations that are not listed use the
/// manager's own transfer stream.
using TransferStreams = std::map<Location, memory::Stream>;

/// One plan around one body (R39, R41 to R44). Made by Manager::scope; making it touches nothing. Single use,
/// may nest. Move-only. One thread at a time.
class Scope {
 public:
  Scope(Scope&& other) noexcept;
  Scope& operator=(Scope&& other) noexcept;
  /// While open: releases the reservations, runs no exit action, warns with the plan's name (R44).
  ~Scope();

  const Plan& plan() const;

  /// Compares the expected version, repeats the preflight and runs reclaim, reservations, enter.
  /// StaleStateError and PlanError: nothing was executed, and the scope may be entered again.
  /// PlanExecutionError: it is consumed.
  void enter();
  /// Waits (no lock held) for consumers of the values that exit removes, runs exit in order, releases the
  /// reservations also where exit fails. PlanExecutionError with phase exit. A second close does nothing.
  void close();
  /// Releases the reservations and runs no exit action: for an interrupted run.
  void abandon() noexcept;
  /// enter, body, close. An exception of the body is rethrown after close; what close then threw is in
  /// exit_error().
  void run(const std::function<void(Scope&)>& body);

  bool open() const;
  /// The plan's reservation of that label (the first at any location, or at `at`), while open:
  /// LifetimeClosedError, std::invalid_argument.
  Reservation& reservation(std::string_view label);
  Reservation& reservation(std::string_view label, Location at);

  /// Of the last preflight; empty before enter.
  const std::optional<Explanation>& explanation() const;
  /// What was committed so far, entry and exit.
  const PlanReport& report() const;
  /// The failure of exit that a body's exception hid (R43), or null.
  std::exception_ptr exit_error() const;

 private:
  friend class Core;
  struct Body;
  explicit Scope(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace fheres::residency
