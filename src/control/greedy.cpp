#include "greedy.hpp"

#include <algorithm>
#include <optional>
#include <variant>

namespace fheres::control {
namespace {

using residency::Refusal;
using residency::State;

bool is_last_copy(Refusal::Rule rule) {
  using Rule = Refusal::Rule;
  return rule == Rule::last_copy || rule == Rule::last_backing || rule == Rule::backing_gone;
}

class Greedy {
 public:
  Greedy(const Problem& problem, Run& run, std::uint64_t& explored)
      : problem_(problem), run_(run), explored_(explored) {}

  std::optional<Location> lacking;

  bool serve() {
    if (!force({.kind = Step::Kind::reserve})) return false;
    for (const Requirement& wanted : problem_.request.require) {
      if (!force({.kind = Step::Kind::place, .value = wanted.value, .at = wanted.at})) return false;
    }
    return run_.served();
  }

 private:
  struct Queue {
    std::vector<HandleId> victims;
    std::size_t next = 0;
  };

  // Takes the step, making room wherever it lacks.
  bool force(const Step& step) {
    for (;;) {
      ++explored_;
      const std::optional<Refusal> refusal = run_.take(step);
      if (!refusal) return true;
      if (refusal->rule != Refusal::Rule::budget) return false;
      lacking = refusal->at;
      if (!make_room(refusal->at)) return false;
    }
  }

  // The next victim of the location that can go, goes.
  bool make_room(Location at) {
    if (busy_[at.index()]) return false;  // room here is already being made: a cycle of tiers
    busy_[at.index()] = true;
    Queue& queue = queue_at(at);
    bool done = false;
    while (!done && queue.next < queue.victims.size()) done = evict(queue.victims[queue.next++], at);
    busy_[at.index()] = false;
    return done;
  }

  bool evict(HandleId value, Location at) {
    if (run_.state().record(value).at(at) == nullptr) return false;
    ++explored_;
    const std::optional<Refusal> refusal = run_.take({.kind = Step::Kind::evict, .value = value, .at = at});
    if (!refusal) return true;
    if (!is_last_copy(refusal->rule)) return false;
    for (const Location tier : problem_.tiers(at)) {
      const Step offload{.kind = Step::Kind::evict, .value = value, .at = at, .to = tier};
      if (force(offload)) return true;
    }
    return false;
  }

  // Ordered once, when the location first lacks room: what comes here later was sent here on purpose.
  Queue& queue_at(Location at) {
    std::optional<Queue>& queue = queues_[at.index()];
    if (!queue) queue = Queue{problem_.victims(run_.state(), at, false)};
    return *queue;
  }

  const Problem& problem_;
  Run& run_;
  std::uint64_t& explored_;
  std::array<std::optional<Queue>, Location::kCount> queues_;
  std::array<bool, Location::kCount> busy_{};
};

}  // namespace

bool greedy(const Problem& problem, Run& run, std::uint64_t& explored, std::optional<Location>& lacking) {
  Greedy attempt(problem, run, explored);
  const bool served = attempt.serve();
  lacking = attempt.lacking;
  return served;
}

std::vector<Step> evictions_first(std::vector<Step> steps) {
  std::stable_partition(steps.begin(), steps.end(),
                        [](const Step& step) { return step.kind == Step::Kind::evict; });
  return steps;
}

}  // namespace fheres::control
