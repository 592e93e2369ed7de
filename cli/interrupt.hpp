#pragma once

#include <atomic>

namespace fheres::cli {

/// Catches the first SIGINT or SIGTERM and sets a flag; a second one ends the process at once. Installed on first use.
const std::atomic<bool>& interrupt_flag();

}  // namespace fheres::cli
