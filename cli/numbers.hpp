#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

namespace fheres::cli {

/// The numbers of a file, one a slot: a `.npy` array of little-endian doubles of one dimension, or a text of finite
/// numbers apart by blanks, commas, semicolons or lines. FileError where it is neither, holds none, or more than
/// `most`.
std::vector<double> read_numbers(const std::filesystem::path& path, std::size_t most);

}  // namespace fheres::cli
