#pragma once

namespace fheres::cli {

/// Exit codes, the same for every command. When several hold: interrupted, failed, wrong_result, regression.
enum class ExitCode : int {
  done = 0,          // done; feasible; equal
  no = 1,            // a well-formed question whose answer is no: infeasible, violation, differences
  invalid = 2,       // usage, invalid document, stale plan
  inconclusive = 3,  // the search limit was reached
  failed = 4,        // failed while running (device, memory, file)
  wrong_result = 5,  // a decrypted output is outside its tolerance
  regression = 6,    // worse than a recorded baseline
  interrupted = 130,
};

}  // namespace fheres::cli
