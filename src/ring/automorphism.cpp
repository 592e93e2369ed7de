#include <fheres/ring/automorphism.hpp>

namespace fheres::ring {

std::uint32_t rotation_exponent(std::int64_t steps, int log_n) {
  const std::int64_t slots = std::int64_t{1} << (log_n - 1);
  const std::uint32_t mask = (std::uint32_t{2} << log_n) - 1;
  // 5 has order N/2 modulo 2N, so 5^-steps is 5^(slots - steps).
  auto power = static_cast<std::uint32_t>(((-steps) % slots + slots) % slots);
  std::uint32_t result = 1;
  for (std::uint32_t square = 5 & mask; power != 0; power >>= 1) {
    if (power & 1U) result = result * square & mask;
    square = square * square & mask;
  }
  return result;
}

}  // namespace fheres::ring
