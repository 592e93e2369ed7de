#include <doctest/doctest.h>

#include "ckks/ckks_support.hpp"

using namespace fheres;
using namespace fheres::test;

TEST_CASE("a view refuses storage of another size and values of another kind") {
  const scheme::Parameters parameters = small_parameters();
  scheme::ValueType type;
  std::vector<std::byte> storage(scheme::bytes_of(parameters, type));
  CHECK_NOTHROW(ckks::CiphertextRef(parameters, type, storage));
  CHECK_THROWS_AS(ckks::CiphertextRef(parameters, type, std::span(storage).first(storage.size() - 1)),
                  scheme::ParameterError);
  CHECK_THROWS_AS(ckks::PlaintextView(parameters, type, storage), scheme::ParameterError);
  type.level = 1;
  CHECK_THROWS_AS(ckks::CiphertextView(parameters, type, storage), scheme::ParameterError);
}

TEST_CASE("a context refuses a back end of other parameters") {
  const auto backend = ring::make_cpu_backend(small_parameters(2), nullptr);
  CHECK_THROWS_AS(ckks::Context(small_parameters(1), backend), std::invalid_argument);
  CHECK_NOTHROW(ckks::Context(small_parameters(2), backend));
  CHECK_THROWS_AS(ckks::Context(small_parameters(2, 1), backend), std::invalid_argument);
}
