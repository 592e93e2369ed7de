#pragma once

#include <string>

#include "manual.hpp"

namespace fheres::cli {

// A script that the shell reads, and that knows commands, options and the words that options take. Where a value can be
// anything, files are offered.

std::string bash_completion(const Manual& manual);
std::string zsh_completion(const Manual& manual);
std::string fish_completion(const Manual& manual);

}  // namespace fheres::cli
