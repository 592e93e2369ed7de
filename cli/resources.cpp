#include "resources.hpp"

#include <algorithm>

#include <fheres/base/check.hpp>

namespace fheres::cli {

std::string_view resource(std::string_view name) {
  const auto all = resources();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Resource& item) { return item.name == name; });
  FHERES_CHECK(found != all.end());
  return found->text;
}

}  // namespace fheres::cli
