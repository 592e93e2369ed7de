// The loader under libFuzzer: scripts/fuzz.sh builds and runs it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz/document.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string wrong =
      fheres::test::check_document({reinterpret_cast<const char*>(data), size}, "tests/fuzz/corpus");
  if (!wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
