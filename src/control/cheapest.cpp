#include "cheapest.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <variant>

#include "next_steps.hpp"

namespace fheres::control {
namespace {

using residency::Materialization;
using residency::State;
using residency::Transition;
using residency::ValueRecord;

Bytes bytes_of(const State& now, const Step& step) {
  if (step.kind == Step::Kind::reserve || (step.kind == Step::Kind::evict && !step.to)) return 0;
  const auto resolved = now.resolve(action_of(now, step));
  const Transition* transition = std::get_if<Transition>(&resolved);
  return transition == nullptr ? 0 : transition->bytes;
}

class CheapestSearch {
 public:
  CheapestSearch(const Problem& problem, std::uint64_t limit, std::uint64_t& explored)
      : problem_(problem), limit_(limit), explored_(explored), run_(problem) {}

  std::optional<Way> go() {
    take_harmless_evictions(problem_, run_, false);
    Classes classes(problem_, run_.state());
    Trial trial(problem_, run_.state());
    reach(classes.situation(trial.state(), false), 0, 0, {});
    while (!open_.empty()) {
      const auto [cost, index] = open_.top();
      open_.pop();
      if (nodes_[index].closed || cost != nodes_[index].cost) continue;
      nodes_[index].closed = true;
      go_to(trial, index);
      if (trial.served()) {
        run_.take_all(trial.path());
        run_.place_the_rest();
        return run_.take_way();
      }
      if (opened_++ == limit_) return std::nullopt;
      ++explored_;
      for (const Step& step : next_steps(problem_, classes, trial)) {
        const Bytes bytes = bytes_of(trial.state(), step);
        if (trial.take(step)) continue;
        reach(classes.situation(trial.state(), trial.reserved()), cost + bytes, index, step);
        trial.undo();
      }
    }
    return std::nullopt;
  }

 private:
  struct Node {
    std::size_t parent;
    Step step;
    Bytes cost;
    bool closed = false;
  };
  using Entry = std::pair<Bytes, std::size_t>;  // equal bytes: the state that was reached first

  // Interchangeable situations are one, whoever got there: the cheapest way to it stands for all.
  void reach(Situation situation, Bytes cost, std::size_t parent, const Step& step) {
    const auto [known, fresh] = index_of_.try_emplace(std::move(situation), nodes_.size());
    if (fresh) {
      nodes_.push_back({parent, step, cost});
    } else {
      Node& node = nodes_[known->second];
      if (node.closed || node.cost <= cost) return;
      node = {parent, step, cost};
    }
    open_.push({cost, known->second});
  }

  void go_to(Trial& trial, std::size_t index) {
    std::vector<Step> path;
    for (; index != 0; index = nodes_[index].parent) path.push_back(nodes_[index].step);
    std::reverse(path.begin(), path.end());
    const std::vector<Step>& now = trial.path();
    const auto shared = static_cast<std::size_t>(
        std::mismatch(now.begin(), now.end(), path.begin(), path.end()).first - now.begin());
    while (trial.path().size() > shared) trial.undo();
    for (std::size_t i = shared; i < path.size(); ++i) trial.take(path[i]);
  }

  const Problem& problem_;
  const std::uint64_t limit_;
  std::uint64_t& explored_;
  std::uint64_t opened_ = 0;
  Run run_;
  std::vector<Node> nodes_;
  std::unordered_map<Situation, std::size_t, SituationHash> index_of_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open_;
};

}  // namespace

namespace {

// What expansions at a location have to read, if it is not there: once for all of them, and for nothing more where the
// backing itself is required.
Bytes least_for_expansions(const State& state, HandleId backing, Location at, Bytes otherwise) {
  Bytes least = otherwise;
  for (const Materialization& there : state.record(backing).materializations)
    least = std::min(least, there.at == at ? 0 : there.actual_bytes);
  return least;
}

}  // namespace

Bytes least_bytes(const Problem& problem) {
  Bytes sum = 0;
  std::map<std::pair<HandleId, Location>, Bytes>
      expanded;  // what all copies would cost, by backing and place
  for (const Requirement& wanted : problem.request.require) {
    const ValueRecord& record = problem.state.record(wanted.value);
    if (record.at(wanted.at) != nullptr) continue;
    const std::optional<HandleId> backing = live_backing(problem.state, wanted.value);
    Bytes least = record.source || backing ? record.spec->logical_bytes : record.spec->storage_bytes;
    for (const Materialization& there : record.materializations) least = std::min(least, there.actual_bytes);
    (backing ? expanded[{*backing, wanted.at}] : sum) += least;
  }
  for (const auto& [where, copies] : expanded) {
    const auto& [backing, at] = where;
    if (!problem.required(backing, at)) sum += least_for_expansions(problem.state, backing, at, copies);
  }
  return sum;
}

std::optional<Way> search_cheapest(const Problem& problem, std::uint64_t limit, std::uint64_t& explored) {
  return CheapestSearch(problem, limit, explored).go();
}

}  // namespace fheres::control
