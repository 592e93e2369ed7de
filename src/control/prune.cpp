#include "prune.hpp"

#include <algorithm>
#include <array>

namespace fheres::control {
namespace {

// The most that is charged at each location from some step on: marks are folded in as the walk passes them
// backwards.
class PeaksFrom {
 public:
  void go_back_to(std::size_t step, const std::vector<Mark>& marks) {
    while (next_ > 0 && marks[next_ - 1].step >= step) {
      const Mark& mark = marks[--next_];
      Bytes& peak = peaks_[mark.at.index()];
      peak = std::max(peak, mark.charged);
    }
  }
  void restart(const std::vector<Mark>& marks) {
    next_ = marks.size();
    peaks_.fill(0);
  }
  Bytes at(Location where) const { return peaks_[where.index()]; }

 private:
  std::size_t next_ = 0;
  std::array<Bytes, Location::kCount> peaks_{};
};

class Pruning {
 public:
  Pruning(const Problem& problem, Way& way) : problem_(problem), way_(way) { look_again(); }

  // One pass from the last step to the first; whether anything was left out.
  bool pass() {
    bool changed = false;
    peaks_.restart(way_.marks);
    for (std::size_t i = way_.steps.size(); i-- > 0;) {
      const Step step = way_.steps[i];
      if (step.kind != Step::Kind::evict) continue;
      peaks_.go_back_to(i, way_.marks);
      if (!(stands_alone(step) ? leave_out_by_sum(i) : leave_out_by_replay(i))) continue;
      peaks_.restart(way_.marks);
      changed = true;
    }
    return changed;
  }

 private:
  void look_again() {
    touches_.assign(problem_.state.records().size(), 0);
    for (const Step& step : way_.steps) {
      if (step.kind != Step::Kind::reserve) ++touches_[step.value.serial];
    }
  }

  // A value that the request does not need, and that nothing else touches.
  bool stands_alone(const Step& step) const {
    return !problem_.requested(step.value) && touches_[step.value.serial] == 1;
  }

  // Without this eviction the value's bytes stay here, and do not come to the tier: nothing else changes, so room
  // here is all that it takes.
  bool leave_out_by_sum(std::size_t index) {
    const Step step = way_.steps[index];
    const Bytes bytes = problem_.state.record(step.value).spec->storage_bytes;
    const std::optional<Bytes> budget = budget_of(problem_.state, step.at);
    if (budget && bytes > *budget - peaks_.at(step.at)) return false;
    std::vector<Mark> marks;
    marks.reserve(way_.marks.size());
    for (Mark mark : way_.marks) {
      if (mark.step == index) continue;
      if (mark.step > index) {
        --mark.step;
        if (mark.at == step.at) mark.charged += bytes;
        if (mark.at == step.to) mark.charged -= bytes;
      }
      marks.push_back(mark);
    }
    way_.marks = std::move(marks);
    way_.steps.erase(way_.steps.begin() + static_cast<std::ptrdiff_t>(index));
    --touches_[step.value.serial];
    return true;
  }

  bool leave_out_by_replay(std::size_t index) {
    std::vector<Step> rest = way_.steps;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(index));
    Run run(problem_);
    if (!run.take_all(rest) || !run.served()) return false;
    way_ = run.take_way();
    look_again();
    return true;
  }

  const Problem& problem_;
  Way& way_;
  PeaksFrom peaks_;
  std::vector<std::uint32_t> touches_;  // how many steps touch each value
};

}  // namespace

void prune(const Problem& problem, Way& way) {
  Pruning pruning(problem, way);
  while (pruning.pass()) {
  }
}

bool prefer_earlier_tiers(const Problem& problem, Way& way) {
  bool changed = false;
  for (std::size_t i = 0; i < way.steps.size(); ++i) {
    const Step step = way.steps[i];
    if (step.kind != Step::Kind::evict || !step.to) continue;
    for (const Location tier : problem.tiers(step.at)) {
      if (tier == *step.to) break;
      std::vector<Step> other = way.steps;
      other[i].to = tier;
      Run run(problem);
      if (!run.take_all(other) || !run.served() || run.way().steps != other) continue;
      way = run.take_way();
      changed = true;
      break;
    }
  }
  return changed;
}

}  // namespace fheres::control
