#include <fmt/format.h>

#include <fheres/residency/errors.hpp>
#include <fheres/residency/source.hpp>

namespace fheres::residency {

memory::Block LoadContext::allocate(Bytes bytes) {
  // The load was charged storage_bytes and no more (R16); with it, a loader cannot starve what else is
  // admitted.
  const Bytes room = spec_.storage_bytes - allocated_;
  if (bytes > room)
    throw MaterializationError(
        fmt::format("the source of '{}' asks for {} B, {} B of its charge of {} B are left", spec_.name,
                    bytes, room, spec_.storage_bytes));
  memory::Block made = make_ ? make_(bytes) : region_->allocate(bytes);
  allocated_ += round_up_to_granule(bytes);
  return made;
}

}  // namespace fheres::residency
