#pragma once

#include <cstddef>
#include <optional>
#include <variant>
#include <vector>

#include <fheres/residency/plan.hpp>
#include <fheres/residency/state.hpp>

namespace fheres::control::testing {

/// The plan without its i-th action of reclaim and enter, and without what then has nothing to act on.
inline std::optional<residency::Plan> without(const residency::State& start, const residency::Plan& plan,
                                              std::size_t index) {
  residency::State state = start;
  residency::Plan shorter{plan.name, {}, plan.reservations, {}, {}};
  std::size_t i = 0;
  const auto walk = [&](const std::vector<residency::Action>& from, std::vector<residency::Action>& to) {
    for (const residency::Action& action : from) {
      if (i++ == index) continue;
      const auto result = state.apply(action);
      if (const residency::Refusal* refusal = std::get_if<residency::Refusal>(&result)) {
        if (refusal->rule == residency::Refusal::Rule::unavailable) continue;
        return false;
      }
      to.push_back(action);
    }
    return true;
  };
  if (!walk(plan.reclaim, shorter.reclaim)) return std::nullopt;
  for (const auto& reservation : plan.reservations)
    if (std::holds_alternative<residency::Refusal>(state.reserve(reservation))) return std::nullopt;
  if (!walk(plan.enter, shorter.enter)) return std::nullopt;
  return shorter;
}

}  // namespace fheres::control::testing
