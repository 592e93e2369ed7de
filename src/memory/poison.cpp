#include <atomic>
#include <cstring>

#include <fheres/memory/poison.hpp>

#if defined(__SANITIZE_ADDRESS__)
#define FHERES_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FHERES_ADDRESS_SANITIZER 1
#endif
#endif
#ifdef FHERES_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace fheres::memory {
namespace {

#ifdef NDEBUG
constexpr bool kFillByDefault = false;
#else
constexpr bool kFillByDefault = true;
#endif
std::atomic<bool> fill_switch{kFillByDefault};

}  // namespace

bool fills_freed_blocks() { return fill_switch.load(std::memory_order_relaxed); }
void fill_freed_blocks(bool on) { fill_switch.store(on, std::memory_order_relaxed); }

void poison(std::byte* data, Bytes bytes, bool fill) noexcept {
  if (bytes == 0) return;
  if (fill && fills_freed_blocks()) std::memset(data, std::to_integer<int>(kPoison), bytes);
#ifdef FHERES_ADDRESS_SANITIZER
  __asan_poison_memory_region(data, bytes);
#endif
}

void unpoison(std::byte* data, Bytes bytes) noexcept {
#ifdef FHERES_ADDRESS_SANITIZER
  if (bytes != 0) __asan_unpoison_memory_region(data, bytes);
#else
  static_cast<void>(data);
  static_cast<void>(bytes);
#endif
}

}  // namespace fheres::memory
