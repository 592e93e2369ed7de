#pragma once

#include <span>

#include <fheres/documents/explanation.hpp>

// The texts, by group of codes, each in its own file.
namespace fheres::documents {

std::span<const Explanation> file_explanations();       // 00
std::span<const Explanation> shape_explanations();      // 01
std::span<const Explanation> parameter_explanations();  // 02
std::span<const Explanation> value_explanations();      // 03
std::span<const Explanation> stage_explanations();      // 04 and 05
std::span<const Explanation> for_explanations();        // 06
std::span<const Explanation> machine_explanations();    // 07
std::span<const Explanation> answer_explanations();     // 09

}  // namespace fheres::documents
