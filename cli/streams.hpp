#pragma once

#include <string>

namespace fheres::cli {

/// Opens what is closed of stdin, stdout and stderr on /dev/null: otherwise the next file would get its number, and what
/// is printed would go into it. What is printed to a closed stdout is an error all the same.
void open_standard_streams();

/// One line on stderr. Never throws: there is nowhere left to say it.
void say(const std::string& line) noexcept;

/// Writes out what is still held back; the system's reason where something did not arrive, else an empty text.
std::string flush_stdout();

}  // namespace fheres::cli
