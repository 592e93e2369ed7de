#include <fheres/base/error.hpp>

namespace fheres {

Error::Error(std::string code, const std::string& message)
    : std::runtime_error(message), code_(std::move(code)) {}

}  // namespace fheres
