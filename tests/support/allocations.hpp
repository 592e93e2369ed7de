#pragma once

#include <cstdlib>
#include <string_view>

namespace fheres::test {

/// Whether tests make their drivers with one allocation for each block: FHERES_TEST_ONE_ALLOCATION_PER_BLOCK=1. For
/// memory checkers, which then see an access beyond a block, or to one that is gone.
inline bool one_allocation_per_block() {
  const char* text = std::getenv("FHERES_TEST_ONE_ALLOCATION_PER_BLOCK");
  return text != nullptr && std::string_view(text) != "0";
}

}  // namespace fheres::test
