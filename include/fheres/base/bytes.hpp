#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace fheres {

/// A number of bytes. Always unsigned, always bytes: never a count of words or elements.
using Bytes = std::uint64_t;

inline constexpr Bytes kKiB = Bytes{1} << 10;
inline constexpr Bytes kMiB = Bytes{1} << 20;
inline constexpr Bytes kGiB = Bytes{1} << 30;

/// Every address inside a budgeted location is a multiple of this, and so is every CKKS value's size.
inline constexpr Bytes kGranule = 256;

/// `bytes` rounded up to whole granules. Throws std::overflow_error above 2^64 - 256.
Bytes round_up_to_granule(Bytes bytes);

/// Sum and product that throw std::overflow_error rather than wrap.
Bytes checked_add(Bytes a, Bytes b);
Bytes checked_multiply(Bytes a, Bytes b);

/// For people: the largest binary unit that keeps the value at 1 or more, with at most two decimals and no
/// trailing zeros: `512 B`, `1.5 KiB`, `37 MiB`, `5.6 GiB`. A size that two decimals would misstate
/// by a whole unit still rounds: use format_exact_bytes where the reader must see every byte.
std::string format_bytes(Bytes bytes);

/// `38.2 of 40 MiB`, or `2 MiB of 1.5 GiB` where the units differ.
std::string format_share(Bytes part, Bytes whole);

/// `38797568 B (37 MiB)`: for messages where one byte decides.
std::string format_exact_bytes(Bytes bytes);

/// Why a text is not a size. One lower-case sentence, with the text in it.
struct BadBytes {
  std::string reason;
};

/// Reads `123`, `64 KiB`, `1.5 GiB`, `2GB`. Units: B, kB, MB, GB, TB (powers of 1000) and KiB, MiB, GiB, TiB
/// (powers of 1024), one optional space before them. Refused: a sign, a fraction without a unit, a fraction
/// that is not a whole number of bytes, an unknown unit, a value of 2^63 or more.
std::variant<Bytes, BadBytes> parse_bytes(std::string_view text);

}  // namespace fheres
