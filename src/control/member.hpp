#pragma once

#include <fheres/control/decision.hpp>

#include "problem.hpp"

namespace fheres::control {

/// One line of a conflict, before it is put into words.
struct Member {
  Conflict::Kind kind = Conflict::Kind::requirement;
  HandleId value{};       // requirement, in_use, only_copy, staged
  std::size_t index = 0;  // reservation: in the request; reserved: in the state
  Location at = Location::pageable_host();
  Bytes bytes = 0;
};

Conflict in_words(const Problem& problem, const Member& member);

}  // namespace fheres::control
