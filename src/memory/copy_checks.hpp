#pragma once

#include <fheres/memory/driver.hpp>

namespace fheres::memory {

// What every driver demands of its arguments before it does anything. They throw std::invalid_argument with
// one line that says which demand is broken.

void check_stream(const Stream& stream);
/// Same size, and at least one end that the stream's device can drive.
void check_copy(const Stream& stream, const Extent& destination, const Extent& source);
/// As check_copy but for the sizes: both extents hold all rows at their pitch.
void check_copy_2d(const Stream& stream, const Extent& destination, const Extent& source,
                   const Copy2D& shape);
void check_copy_host(const Extent& destination, const Extent& source);
void check_device(Location device);

}  // namespace fheres::memory
