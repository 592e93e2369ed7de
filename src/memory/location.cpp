#include <stdexcept>

#include <fmt/format.h>

#include <fheres/memory/location.hpp>

namespace fheres::memory {
namespace {

constexpr std::string_view kPageable = "pageable-host";
constexpr std::string_view kPinned = "pinned-host";
constexpr std::string_view kCudaPrefix = "cuda:";

}  // namespace

Location Location::cuda(int device) {
  if (device < 0 || device >= kMaxDevices) {
    throw std::invalid_argument(
        fmt::format("expected a device from 0 to {}, got {}", kMaxDevices - 1, device));
  }
  return Location(2 + device);
}

std::optional<Location> Location::from_name(std::string_view name) {
  if (name == kPageable) return pageable_host();
  if (name == kPinned) return pinned_host();
  if (name.substr(0, kCudaPrefix.size()) != kCudaPrefix) return std::nullopt;
  const std::string_view digits = name.substr(kCudaPrefix.size());
  // R1: one spelling a device, so `00` and `+1` are names of nothing.
  if (digits.empty() || digits.size() > 3 || (digits.size() > 1 && digits.front() == '0'))
    return std::nullopt;
  int device = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    device = device * 10 + (c - '0');
  }
  if (device >= kMaxDevices) return std::nullopt;
  return cuda(device);
}

Location Location::parse(std::string_view name) {
  if (const std::optional<Location> at = from_name(name)) return *at;
  throw std::invalid_argument(fmt::format(
      "expected pageable-host, pinned-host or cuda:0 to cuda:{}, got `{}`", kMaxDevices - 1, name));
}

std::string Location::name() const {
  if (*this == pageable_host()) return std::string(kPageable);
  if (*this == pinned_host()) return std::string(kPinned);
  return fmt::format("{}{}", kCudaPrefix, device());
}

}  // namespace fheres::memory
