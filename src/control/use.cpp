#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include <fheres/control/use.hpp>
#include <fheres/residency/errors.hpp>

namespace fheres::control {

Use::~Use() {
  try {
    close();
  } catch (...) {
    scope_.abandon();
  }
}

residency::BlockView Use::value(HandleId value, Location at) const {
  const auto found = leases_.find(at);
  if (found == leases_.end()) {
    throw residency::HandleError(
        residency::HandleError::Reason::unknown, value,
        fmt::format("request `{}` requires nothing at {}", decision_.request, at.name()));
  }
  return found->second.view(value);
}

residency::Lease& Use::lease(Location at) {
  const auto found = leases_.find(at);
  if (found == leases_.end()) {
    throw std::invalid_argument(
        fmt::format("request `{}` requires nothing at {}", decision_.request, at.name()));
  }
  return found->second;
}

void Use::close(bool wait) {
  if (!scope_.open()) return;
  for (auto& [at, lease] : leases_) lease.release(wait);
  scope_.close();
}

void Use::run(const std::function<void(Use&)>& body) {
  std::exception_ptr failure;
  try {
    body(*this);
  } catch (...) {
    failure = std::current_exception();
  }
  try {
    close();
  } catch (...) {
    scope_.abandon();
    exit_error_ = std::current_exception();
    if (!failure) throw;
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace fheres::control
