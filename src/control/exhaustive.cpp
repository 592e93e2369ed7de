#include "exhaustive.hpp"

#include <unordered_set>

#include "next_steps.hpp"

namespace fheres::control {
namespace {

using residency::State;

class ExhaustiveSearch {
 public:
  ExhaustiveSearch(const Problem& problem, Run& run, std::uint64_t limit, std::uint64_t& explored)
      : problem_(problem), run_(run), limit_(limit), explored_(explored) {}

  Verdict go() {
    Trial trial(problem_, run_.state());
    seen_.insert(classes_.situation(trial.state(), trial.reserved()));
    std::vector<Frame> frames;
    frames.push_back({next_steps(problem_, classes_, trial)});
    if (!count()) return Verdict::limit_reached;
    while (!frames.empty()) {
      Frame& top = frames.back();
      if (top.next == top.moves.size()) {
        frames.pop_back();
        if (!frames.empty()) trial.undo();
        continue;
      }
      const Step step = top.moves[top.next++];
      if (trial.take(step)) continue;
      if (trial.served()) return replay(trial.path());
      if (!seen_.insert(classes_.situation(trial.state(), trial.reserved())).second) {
        trial.undo();
        continue;
      }
      if (!count()) return Verdict::limit_reached;
      frames.push_back({next_steps(problem_, classes_, trial)});
    }
    return Verdict::impossible;
  }

 private:
  struct Frame {
    std::vector<Step> moves;
    std::size_t next = 0;
  };

  const State& harmless_evictions_taken() {
    take_harmless_evictions(problem_, run_, true);
    return run_.state();
  }

  bool count() {
    if (opened_ == limit_) return false;
    ++opened_;
    ++explored_;
    return true;
  }

  Verdict replay(const std::vector<Step>& path) {
    run_.take_all(path);
    run_.place_the_rest();
    return Verdict::served;
  }

  const Problem& problem_;
  Run& run_;
  const std::uint64_t limit_;
  std::uint64_t& explored_;
  std::uint64_t opened_ = 0;
  Classes classes_{problem_, harmless_evictions_taken()};
  std::unordered_set<Situation, SituationHash> seen_;
};

}  // namespace

Verdict search_exhaustively(const Problem& problem, Run& run, std::uint64_t limit, std::uint64_t& explored) {
  return ExhaustiveSearch(problem, run, limit, explored).go();
}

}  // namespace fheres::control
