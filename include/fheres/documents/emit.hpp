#pragma once

#include <string>

#include <fheres/workload/program.hpp>

namespace fheres::documents {

/// A Program as a document of kind Plan: UTF-8 YAML that `load` reads back as the same Program, and equal bytes for equal
/// Programs. Sizes are exact bytes. `schema` is the path of the schema as an editor finds it from where the file will be;
/// empty: no such line.
std::string emit(const workload::Program& program, const std::string& schema = {});

}  // namespace fheres::documents
