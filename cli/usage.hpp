#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include <CLI/CLI.hpp>

namespace fheres::cli {

/// What the parser's error says to somebody who typed a command line: the command, what is wrong, what may have been
/// meant, and where to look.
std::string usage_message(const CLI::App& app, const CLI::Error& error);

/// A whole number in digits alone, from `low` to `high`. The parser's own conversion takes -1 for 2^64 - 1.
CLI::Validator whole_number(std::uint64_t low = 0,
                            std::uint64_t high = std::numeric_limits<std::uint64_t>::max());

/// For options and arguments that are the name of a file: refuses an empty one, which a variable that is not set gives.
CLI::Option* names_file(CLI::Option* option, const char* word = "FILE");

}  // namespace fheres::cli
