#include <algorithm>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

#include <fheres/control/policy.hpp>

namespace fheres::control {

DeterministicTieredLRU::DeterministicTieredLRU(Tiers fallback) : fallback_(std::move(fallback)) {
  for (const auto& [from, tiers] : fallback_) {
    for (std::size_t i = 0; i < tiers.size(); ++i) {
      if (tiers[i] == from) {
        throw std::invalid_argument(
            fmt::format("the fallback tiers of {} name {} itself", from.name(), from.name()));
      }
      if (std::find(tiers.begin(), tiers.begin() + static_cast<std::ptrdiff_t>(i), tiers[i]) !=
          tiers.begin() + static_cast<std::ptrdiff_t>(i)) {
        throw std::invalid_argument(
            fmt::format("the fallback tiers of {} name {} twice", from.name(), tiers[i].name()));
      }
    }
  }
}

std::string DeterministicTieredLRU::identity() const {
  std::string tiers;
  for (const auto& [from, to] : fallback_) {
    if (to.empty()) continue;
    tiers += fmt::format("{}{}:", tiers.empty() ? "" : "; ", from.name());
    for (const Location tier : to) tiers += fmt::format(" {}", tier.name());
  }
  return tiers.empty() ? "tiered-lru" : fmt::format("tiered-lru ({})", tiers);
}

std::vector<std::size_t> DeterministicTieredLRU::order(std::span<const Candidate> candidates) const {
  std::vector<std::size_t> result(candidates.size());
  std::iota(result.begin(), result.end(), std::size_t{0});
  // R54. Every two candidates differ at the latest in their handles, so the order is total.
  const auto before = [&](std::size_t left, std::size_t right) {
    const Candidate& a = candidates[left];
    const Candidate& b = candidates[right];
    if (a.priority != b.priority) return a.priority < b.priority;
    if (a.access_epoch != b.access_epoch) return a.access_epoch < b.access_epoch;
    if ((a.stable_key == nullptr) != (b.stable_key == nullptr)) return a.stable_key != nullptr;
    if (a.stable_key != nullptr && *a.stable_key != *b.stable_key) return *a.stable_key < *b.stable_key;
    return a.value < b.value;
  };
  if (!std::is_sorted(result.begin(), result.end(), before)) std::sort(result.begin(), result.end(), before);
  return result;
}

std::span<const Location> DeterministicTieredLRU::fallback_tiers(Location from) const {
  const auto found = fallback_.find(from);
  return found == fallback_.end() ? std::span<const Location>{} : std::span<const Location>{found->second};
}

}  // namespace fheres::control
