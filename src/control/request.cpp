#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include <fheres/control/request.hpp>

namespace fheres::control {

void check_request(const Request& request, const residency::State& state) {
  if (request.name.empty()) throw std::invalid_argument("a request needs a name, it is empty");
  if (request.require.empty()) {
    throw std::invalid_argument(
        fmt::format("request `{}` requires nothing, expected at least one value", request.name));
  }
  for (const Requirement& wanted : request.require) {
    if (const auto refusal = state.check(wanted.value)) residency::raise(*refusal, state);
    if (!state.present(wanted.at)) {
      throw std::invalid_argument(
          fmt::format("request `{}` names {}, which is not present", request.name, wanted.at.name()));
    }
  }
  for (const residency::ReservationSpec& reservation : request.reserve) {
    if (reservation.label.empty()) {
      throw std::invalid_argument(fmt::format("request `{}` reserves {} bytes at {} without a label",
                                              request.name, reservation.bytes, reservation.at.name()));
    }
    if (!state.present(reservation.at)) {
      throw std::invalid_argument(
          fmt::format("request `{}` names {}, which is not present", request.name, reservation.at.name()));
    }
  }
  std::vector<Requirement> sorted = request.require;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i].value != sorted[i - 1].value) continue;
    const residency::ValueSpec& spec = *state.record(sorted[i].value).spec;
    if (sorted[i].at == sorted[i - 1].at) {
      throw std::invalid_argument(fmt::format("request `{}` requires `{}` at {} twice", request.name,
                                              spec.name, sorted[i].at.name()));
    }
    if (spec.replica_mode == residency::ReplicaMode::exclusive) {
      throw residency::OwnershipError(
          fmt::format("request `{}` requires the exclusive value `{}` at {} and {}", request.name, spec.name,
                      sorted[i - 1].at.name(), sorted[i].at.name()));
    }
  }
}

}  // namespace fheres::control
