#pragma once

namespace fheres {

/// Throws std::logic_error with the condition, the file and the line. Used through FHERES_CHECK.
[[noreturn]] void fail_check(const char* condition, const char* file, int line);

}  // namespace fheres

/// An invariant of ours that no input can break. Always on: a wrong account is worse than a slow one.
#define FHERES_CHECK(condition)                                             \
  do {                                                                      \
    if (!(condition)) ::fheres::fail_check(#condition, __FILE__, __LINE__); \
  } while (false)
