#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <fheres/memory/location.hpp>

namespace fheres::residency {

/// Which replica an action reads that names none: the first in location order (R13), or the one with the highest known
/// bandwidth to the destination, ties in location order (R14).
enum class SourceOrder { location_order, fastest };

/// How copies go. Plain data; what is decided, explained and done follows the same ones.
struct CopyRules {
  SourceOrder source_order = SourceOrder::location_order;
  /// Devices that copy to each other directly, both ways. A copy between two others goes through pinned staging (R64).
  std::vector<std::pair<memory::Location, memory::Location>> peers{};

  bool are_peers(memory::Location a, memory::Location b) const {
    return std::any_of(peers.begin(), peers.end(),
                       [&](const auto& pair) { return pair == std::pair(a, b) || pair == std::pair(b, a); });
  }
  friend bool operator==(const CopyRules&, const CopyRules&) = default;
};

}  // namespace fheres::residency
