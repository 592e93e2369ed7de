#include <array>

#include <fheres/scheme/security.hpp>

namespace fheres::scheme {
namespace {

// For N = 2^10 .. 2^17.
constexpr std::array<int, 8> kGuidelines2024{26, 53, 106, 214, 430, 868, 1747, 3523};
// The standard ends at 2^15; beyond it the guidelines' figures stand in.
constexpr std::array<int, 8> kHeStandard2018{27, 54, 109, 218, 438, 881, 1747, 3523};

}  // namespace

std::optional<int> max_log_qp(SecurityTable table, int log_n) {
  if (log_n < 10 || log_n > 17 || table == SecurityTable::none) return std::nullopt;
  const auto row = static_cast<std::size_t>(log_n - 10);
  return table == SecurityTable::guidelines_2024 ? kGuidelines2024[row] : kHeStandard2018[row];
}

}  // namespace fheres::scheme
