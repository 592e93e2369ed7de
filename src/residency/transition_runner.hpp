#pragma once

#include <span>

#include <fheres/residency/scope.hpp>

#include "residency/core.hpp"

namespace fheres::residency {

/// Which stream a transition's copy may use: one that was given for this transition, a map by destination, or
/// the manager's own.
struct StreamChoice {
  const memory::Stream* given = nullptr;
  const TransferStreams* by_destination = nullptr;
};

/// Runs one action: begin, storage and copies, commit; or abort, and then everything is as before (R20).
/// Needs the transition lock.
TransitionReport run_transition(Core& core, const Action& action, const StreamChoice& streams);

/// std::invalid_argument for a stream that the transition cannot use (R19). An empty stream is none.
void check_stream(const memory::Stream& stream, const Transition& transition);

/// std::invalid_argument for an empty stream, or one that does not belong to its cuda destination (R46).
void check_streams(const TransferStreams& streams);
/// The same for host destinations, where the source decides, after a preflight.
void check_streams(const TransferStreams& streams, std::span<const ActionExplanation> actions);

}  // namespace fheres::residency
