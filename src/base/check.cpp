#include <stdexcept>

#include <fmt/format.h>

#include <fheres/base/check.hpp>

namespace fheres {

void fail_check(const char* condition, const char* file, int line) {
  throw std::logic_error(fmt::format("invariant broken: {} ({}:{})", condition, file, line));
}

}  // namespace fheres
