#include <fheres/memory/bandwidth.hpp>

namespace fheres::memory {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;
constexpr std::uint64_t kPinnedToDevice = 55'400 * kMegabyte;
constexpr std::uint64_t kDeviceToPinned = 51'100 * kMegabyte;  // 1 GiB each way at once takes 21 ms
constexpr std::uint64_t kPageableToDevice = 6'300 * kMegabyte;
constexpr std::uint64_t kDeviceToPageable = 16'000 * kMegabyte;
constexpr std::uint64_t kThroughStaging = 26'600 * kMegabyte;  // 1 / (1 / to pinned + 1 / from pinned)

}  // namespace

std::optional<std::uint64_t> known_bandwidth(Location source, Location destination) {
  if (source.is_cuda() && destination.is_cuda()) return kThroughStaging;
  if (source.is_cuda()) return destination == Location::pinned_host() ? kDeviceToPinned : kDeviceToPageable;
  if (destination.is_cuda()) return source == Location::pinned_host() ? kPinnedToDevice : kPageableToDevice;
  return std::nullopt;
}

}  // namespace fheres::memory
