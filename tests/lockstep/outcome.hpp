#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include <fheres/base/error.hpp>

namespace fheres::lockstep {

/// Two of the three implementations disagree.
struct Mismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What the harness's sources throw when they are told to fail.
struct SourceFailed : std::runtime_error {
  SourceFailed() : std::runtime_error("the source failed, as asked") {}
};
inline constexpr const char* kSourceFailed = "source";

/// How an operation ended: an empty code where it returned.
struct Outcome {
  std::string code;
  std::string text;
  std::exception_ptr error;
  bool ok() const { return code.empty(); }
};

inline Outcome outcome_of(std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (const Mismatch&) {
    throw;
  } catch (const Error& known) {
    return {known.code(), known.what(), error};
  } catch (const SourceFailed& failed) {
    return {kSourceFailed, failed.what(), error};
  } catch (const std::invalid_argument& argument) {
    return {"invalid-argument", argument.what(), error};
  } catch (const std::exception& other) {
    return {"broken", other.what(), error};
  }
}

template <class F>
Outcome attempt(F&& operation) {
  try {
    std::forward<F>(operation)();
    return {};
  } catch (...) {
    return outcome_of(std::current_exception());
  }
}

}  // namespace fheres::lockstep
