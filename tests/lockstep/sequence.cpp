#include "lockstep/sequence.hpp"

#include <algorithm>

namespace fheres::lockstep {
namespace {

struct Weight {
  Kind kind;
  std::uint64_t weight;
};
constexpr Weight kWeights[] = {
    {Kind::adopt, 8},
    {Kind::adopt_from_reservation, 3},
    {Kind::register_source, 6},
    {Kind::ensure, 16},
    {Kind::prefetch, 12},
    {Kind::settle, 3},
    {Kind::move, 12},
    {Kind::drop, 6},
    {Kind::discard, 2},
    {Kind::acquire, 10},
    {Kind::add_stream, 3},
    {Kind::read, 8},
    {Kind::release_lease, 8},
    {Kind::hold, 4},
    {Kind::release_hold, 3},
    {Kind::reserve, 4},
    {Kind::release_reservation, 3},
    {Kind::allocate, 4},
    {Kind::carve, 3},
    {Kind::adopt_block, 6},
    {Kind::free_block, 2},
    {Kind::explain, 4},
    {Kind::execute, 5},
    {Kind::open_scope, 5},
    {Kind::close_scope, 4},
    {Kind::abandon_scope, 2},
    {Kind::run_scope, 4},
    {Kind::announce, 4},
    {Kind::clear_trace, 1},
    {Kind::refused_close, 1},
    {Kind::step, 12},
};
static_assert(std::size(kWeights) == kKinds);

Kind draw_kind(test::Random& random) {
  std::uint64_t total = 0;
  for (const Weight& entry : kWeights) total += entry.weight;
  std::uint64_t draw = random.below(total);
  for (const Weight& entry : kWeights) {
    if (draw < entry.weight) return entry.kind;
    draw -= entry.weight;
  }
  return Kind::step;
}

}  // namespace

Sequence draw_sequence(std::uint64_t seed) {
  test::Random random(seed);
  Sequence sequence{seed, {}};
  for (std::uint64_t i = (is_crowded(seed) ? 30 : 10) + random.below(50); i > 0; --i) {
    // The first operations bring something to work on, and fill a crowd with it.
    const bool crowded = is_crowded(seed);
    const std::size_t before = sequence.operations.size();
    Kind kind = draw_kind(random);
    if (before < (crowded ? 9 : 3)) {
      kind = random.chance(2) ? Kind::adopt : Kind::register_source;
    } else if (crowded && before < 18) {
      kind = Kind::ensure;
    } else if (crowded && !random.chance(3)) {
      kind = before % 5 < 2 ? Kind::drop : Kind::ensure;  // two holes, and then what fits in neither
    }
    sequence.operations.push_back({kind, random.bits()});
  }
  return sequence;
}

std::optional<std::string> run_sequence(const Sequence& sequence, Counts* counts,
                                        std::vector<std::string>* log) {
  std::optional<World> world;
  std::optional<std::string> failure;
  std::size_t done = 0;
  try {
    world.emplace(sequence.seed, log != nullptr);
    for (const Operation& operation : sequence.operations) {
      world->run(operation);
      ++done;
    }
    world->finish();
  } catch (const std::exception& error) {
    failure = "operation " + std::to_string(done) + ": " + error.what();
  }
  if (world && counts != nullptr) {
    for (const auto& [kind, count] : world->counts()) {
      World::Count& sum = counts->kinds[kind];
      sum.done += count.done;
      sum.refused += count.refused;
      sum.failed += count.failed;
    }
    counts->compacted += world->compactions() != 0 ? 1 : 0;
    counts->slides += world->compactions();
  }
  if (world && log != nullptr) *log = world->log();
  return failure;
}

Sequence shrink(Sequence sequence) {
  for (std::size_t size = sequence.operations.size(); size > 0;) {
    bool shorter = false;
    for (std::size_t start = 0; start < sequence.operations.size();) {
      Sequence shorter_one = sequence;
      const auto first = shorter_one.operations.begin() + static_cast<std::ptrdiff_t>(start);
      const auto count = std::min(size, shorter_one.operations.size() - start);
      shorter_one.operations.erase(first, first + static_cast<std::ptrdiff_t>(count));
      if (run_sequence(shorter_one)) {
        sequence = std::move(shorter_one);
        shorter = true;
      } else {
        start += size;
      }
    }
    if (!shorter || size > sequence.operations.size()) size /= 2;
  }
  return sequence;
}

}  // namespace fheres::lockstep
