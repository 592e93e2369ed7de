#pragma once

#include <stdexcept>
#include <string>

namespace fheres {

/// Root of every exception that fheres throws on purpose. An exception ends an operation; a question with
/// two answers returns a value instead. A bad argument is `std::invalid_argument`, a broken invariant of
/// ours is `std::logic_error` (see base/check.hpp): neither derives from this class.
///
/// `code()` is stable across versions (`residency/budget`) and is what programs should test. `what()` is one
/// lower-case line that states expected against actual, for people.
class Error : public std::runtime_error {
 public:
  Error(std::string code, const std::string& message);

  const std::string& code() const noexcept { return code_; }

 private:
  std::string code_;
};

}  // namespace fheres
