#include "memory/copy_checks.hpp"

#include <stdexcept>

#include <fmt/format.h>

namespace fheres::memory {
namespace {

void check_sizes(const Extent& destination, const Extent& source) {
  if (destination.bytes != source.bytes) {
    throw std::invalid_argument(
        fmt::format("expected two extents of one size, got {} B and {} B", destination.bytes, source.bytes));
  }
}

void check_ends(const Stream& stream, const Extent& destination, const Extent& source) {
  check_stream(stream);
  const Location device = stream.device();
  if (destination.at == device || source.at == device) return;
  if (destination.at.is_cuda() && source.at.is_cuda()) return;
  throw std::invalid_argument(fmt::format("a copy from {} to {} cannot use a stream of {}", source.at.name(),
                                          destination.at.name(), device.name()));
}

void check_rows(const Extent& extent, Bytes pitch, const Copy2D& shape) {
  if (pitch < shape.row_bytes) {
    throw std::invalid_argument(
        fmt::format("expected a pitch of at least a row of {} B, got {} B", shape.row_bytes, pitch));
  }
  if (shape.rows == 0) return;
  const Bytes needed = checked_add(checked_multiply(shape.rows - 1, pitch), shape.row_bytes);
  if (extent.bytes < needed) {
    throw std::invalid_argument(fmt::format("expected an extent of at least {} B for {} rows, got {} B",
                                            needed, shape.rows, extent.bytes));
  }
}

}  // namespace

void check_stream(const Stream& stream) {
  if (!stream) throw std::invalid_argument("expected a stream, got an empty one");
}

void check_device(Location device) {
  if (!device.is_cuda()) {
    throw std::invalid_argument(fmt::format("expected a cuda location, got {}", device.name()));
  }
}

void check_copy(const Stream& stream, const Extent& destination, const Extent& source) {
  check_ends(stream, destination, source);
  check_sizes(destination, source);
}

void check_copy_2d(const Stream& stream, const Extent& destination, const Extent& source,
                   const Copy2D& shape) {
  check_ends(stream, destination, source);
  check_rows(destination, shape.destination_pitch, shape);
  check_rows(source, shape.source_pitch, shape);
}

void check_copy_host(const Extent& destination, const Extent& source) {
  if (!destination.at.is_host() || !source.at.is_host()) {
    throw std::invalid_argument(fmt::format("expected two host locations, got a copy from {} to {}",
                                            source.at.name(), destination.at.name()));
  }
  check_sizes(destination, source);
}

}  // namespace fheres::memory
