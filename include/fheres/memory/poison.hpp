#pragma once

#include <cstddef>

#include <fheres/base/bytes.hpp>

namespace fheres::memory {

/// Help against reads of freed storage. Regions call it for storage that the host can address.
///
/// Under the address sanitizer a freed block may not be touched at all. With filling on, a freed block is
/// also overwritten with kPoison, so that a reader that comes too late computes something else than what it
/// expected.
inline constexpr std::byte kPoison{0xDB};

/// Whether freed blocks are overwritten: on in debug builds, off in release builds unless a test asks. One
/// switch for the process; thread safe.
bool fills_freed_blocks();
void fill_freed_blocks(bool on);

/// Marks storage as not usable, and usable again. `fill` asks for the pattern too, where filling is on.
void poison(std::byte* data, Bytes bytes, bool fill) noexcept;
void unpoison(std::byte* data, Bytes bytes) noexcept;

}  // namespace fheres::memory
