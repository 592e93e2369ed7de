#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include <fheres/base/file.hpp>

namespace fheres::workload {

/// How numbers stand in a file.
enum class NumberFormat {
  npy,  // one-dimensional array of numpy: <f8, <f4, or <c16 without imaginary parts
  csv,  // decimal numbers between commas, semicolons, blanks and line ends; `#` starts a comment
  raw   // IEEE doubles, little-endian, and nothing else
};
/// By its extension: `.npy`, `.csv`, and `.f64`, `.bin` or `.raw`.
std::optional<NumberFormat> number_format_of(const std::filesystem::path& path);

/// The numbers of a regular file, at least one and at most `limit`, all finite. FileError where it is not there, is no
/// regular file, is longer than so many numbers can make it (a `.csv`: 64 bytes a number), or is not what its
/// extension says; the message names the path and the figures. Bounded memory and time, whatever the file holds.
std::vector<double> read_numbers(const std::filesystem::path& path, std::uint64_t limit);

}  // namespace fheres::workload
