#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include <fheres/base/check.hpp>
#include <fheres/base/error.hpp>

TEST_CASE("an error keeps its stable code apart from its text") {
  const fheres::Error error("residency/budget", "expected 1, got 2");
  CHECK(error.code() == "residency/budget");
  CHECK(std::string(error.what()) == "expected 1, got 2");
}

TEST_CASE("a broken invariant of ours is a logic error that names its place") {
  const int two = 2;
  CHECK_NOTHROW([&] { FHERES_CHECK(two == 2); }());
  try {
    FHERES_CHECK(two == 3);
    FAIL("nothing was thrown");
  } catch (const std::logic_error& error) {
    const std::string text = error.what();
    CHECK(text.find("two == 3") != std::string::npos);
    CHECK(text.find("error_test.cpp:") != std::string::npos);
  }
}
