#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/world.hpp"

namespace fheres::lockstep {

/// A seed and what it draws: the world's shape, and its operations.
struct Sequence {
  std::uint64_t seed = 0;
  std::vector<Operation> operations;
};

Sequence draw_sequence(std::uint64_t seed);

struct Counts {
  std::map<Kind, World::Count> kinds;
  std::uint64_t compacted = 0;  // sequences in which blocks slid (R27)
  std::uint64_t slides = 0;     // operations for which they did
};

/// Runs it in a new world. The disagreement, where there is one; with `log`, every step as a line.
std::optional<std::string> run_sequence(const Sequence& sequence, Counts* counts = nullptr,
                                        std::vector<std::string>* log = nullptr);

/// Leaves out operations as long as the sequence still fails, in whatever way.
Sequence shrink(Sequence sequence);

}  // namespace fheres::lockstep
