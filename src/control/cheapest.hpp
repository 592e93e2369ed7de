#pragma once

#include <cstdint>
#include <optional>

#include "run.hpp"

namespace fheres::control {

/// The fewest bytes that any plan for the request must copy or load: each endpoint that is not there yet, once.
Bytes least_bytes(const Problem& problem);

/// A way that moves the fewest bytes of all, found by opening states in the order of bytes moved so far, ties in
/// policy order. Nothing where the limit is reached first, or where there is no way.
std::optional<Way> search_cheapest(const Problem& problem, std::uint64_t limit, std::uint64_t& explored);

}  // namespace fheres::control
