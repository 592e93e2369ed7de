#include "prune.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace fheres::control {
namespace {

using Peaks = std::array<Bytes, Location::kCount>;

// The most that is charged from each step on is needed for the steps from last to first: marks are folded in as
// the walk passes them.
class BackwardPeaks {
 public:
  explicit BackwardPeaks(const std::vector<Run::Mark>& marks) : marks_(marks), next_(marks.size()) {}
  void go_to(std::size_t step) {
    while (next_ > 0 && marks_[next_ - 1].step >= step) {
      const Run::Mark& mark = marks_[--next_];
      Bytes& peak = peaks_[mark.at.index()];
      peak = std::max(peak, mark.charged);
    }
  }
  Bytes at(Location where) const { return peaks_[where.index()]; }

 private:
  const std::vector<Run::Mark>& marks_;
  std::size_t next_;
  Peaks peaks_{};
};

// How many steps touch each value.
std::vector<std::uint32_t> touches(const Problem& problem, const std::vector<Step>& steps) {
  std::vector<std::uint32_t> count(problem.state.records().size(), 0);
  for (const Step& step : steps) {
    if (step.kind != Step::Kind::reserve) ++count[step.value.serial];
  }
  return count;
}

// One pass from the last step to the first; whether anything was left out.
bool prune_once(const Problem& problem, Run& run) {
  bool changed = false;
  std::vector<std::uint32_t> touched = touches(problem, run.steps());
  std::optional<BackwardPeaks> peaks(run.marks());
  for (std::size_t i = run.steps().size(); i-- > 0;) {
    const Step step = run.steps()[i];
    if (step.kind != Step::Kind::evict) continue;
    peaks->go_to(i);
    // A value that only this step touches would hold its bytes here from now on, and nothing else would change:
    // where they do not fit, no replay is needed to know.
    if (!problem.requested(step.value) && touched[step.value.serial] == 1) {
      const Bytes bytes = problem.state.record(step.value).spec->storage_bytes;
      const std::optional<Bytes> budget = budget_of(problem.state, step.at);
      if (budget && bytes > *budget - peaks->at(step.at)) continue;
    }
    std::vector<Step> without = run.steps();
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    Run shorter(problem);
    if (!shorter.take_all(without) || !shorter.served()) continue;
    peaks.reset();
    run = std::move(shorter);
    peaks.emplace(run.marks());
    touched = touches(problem, run.steps());
    changed = true;
  }
  return changed;
}

}  // namespace

void prune(const Problem& problem, Run& run) {
  while (prune_once(problem, run)) {
  }
}

void prefer_earlier_tiers(const Problem& problem, Run& run) {
  for (std::size_t i = 0; i < run.steps().size(); ++i) {
    const Step step = run.steps()[i];
    if (step.kind != Step::Kind::evict || !step.to) continue;
    for (const Location tier : problem.tiers(step.at)) {
      if (tier == *step.to) break;
      std::vector<Step> other = run.steps();
      other[i].to = tier;
      Run trial(problem);
      if (!trial.take_all(other) || !trial.served() || trial.steps() != other) continue;
      run = std::move(trial);
      break;
    }
  }
}

}  // namespace fheres::control
