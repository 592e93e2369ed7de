#pragma once

#include <cstddef>
#include <vector>

#include <fheres/base/bytes.hpp>

namespace fheres {

/// A piece of a shared block that is needed from step `first` to step `last`, both included.
struct Lifetime {
  Bytes bytes = 0;  // whole granules
  std::size_t first = 0, last = 0;
  Bytes offset = 0;  // where place_lifetimes puts it
};

/// Gives every piece an offset such that no two overlap that live at once: each at the lowest one that is
/// free for its whole life, larger pieces first. Deterministic. Returns the size of the block.
Bytes place_lifetimes(std::vector<Lifetime>& pieces);

}  // namespace fheres
