#include <stdexcept>
#include <utility>

#include <fheres/ckks/context.hpp>

namespace fheres::ckks {
namespace {

bool serves(const ring::Basis& basis, const scheme::Parameters& parameters) {
  if (basis.log_n() != parameters.log_n() || basis.prime_count() != parameters.prime_count()) return false;
  if (basis.special_limbs() != parameters.special_limbs()) return false;
  if (basis.digit_limbs() != parameters.digit_limbs()) return false;
  const int special = basis.special_limbs();
  for (int i = 0; i < basis.prime_count(); ++i) {
    const int theirs = i < special ? basis.q_limbs() + i : i - special;  // they count Q first
    if (!(basis.prime(i) == parameters.prime(theirs))) return false;
  }
  return true;
}

}  // namespace

Context::Context(scheme::Parameters parameters, std::shared_ptr<const ring::Backend> backend)
    : parameters_(std::move(parameters)), backend_(std::move(backend)) {
  if (backend_ == nullptr || !serves(backend_->basis(), parameters_)) {
    throw std::invalid_argument("the back end was made for other parameters than " + parameters_.id());
  }
}

Context Context::on_host(scheme::Parameters parameters) {
  auto backend = ring::make_cpu_backend(parameters, nullptr);
  return Context(std::move(parameters), std::move(backend));
}

}  // namespace fheres::ckks
