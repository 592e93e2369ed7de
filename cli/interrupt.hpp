#pragma once

#include <atomic>

namespace fheres::cli {

/// SIGINT, SIGTERM and SIGHUP (unless it is ignored, as under nohup) end the process with 130 and leave no temporary file,
/// until interrupt_flag is asked for.
void exit_when_interrupted();

/// Catches the first of these signals and sets a flag; a second one ends the process at once, but for the same one within
/// half a second, which is what `timeout` sends. Installed on first use.
const std::atomic<bool>& interrupt_flag();

}  // namespace fheres::cli
