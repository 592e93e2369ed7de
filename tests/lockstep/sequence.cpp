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
    {Kind::register_backed, 8},
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
  for (std::uint64_t i = 10 + random.below(50); i > 0; --i) {
    // The first operations bring something to work on.
    const Kind kind = sequence.operations.size() < 3
                          ? (random.chance(2) ? Kind::adopt : Kind::register_source)
                          : draw_kind(random);
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
      World::Count& sum = (*counts)[kind];
      sum.done += count.done;
      sum.refused += count.refused;
      sum.failed += count.failed;
    }
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
