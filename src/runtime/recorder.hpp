#pragma once

#include <map>
#include <optional>
#include <vector>

#include <fheres/residency/state.hpp>
#include <fheres/residency/trace.hpp>
#include <fheres/runtime/run_report.hpp>

namespace fheres::runtime {

/// Turns what a manager reports of its transitions into lives and charges over time, by replaying the reports through a
/// State of its own: the manager is not asked while it works. A mirror, not a judge: what a report says happened, happened.
class Recorder {
 public:
  explicit Recorder(residency::State initial) : state_(std::move(initial)) {}

  /// The live state now, after something that no report describes (adoption, the release of reservations).
  void catch_up(residency::State state, std::int64_t time_ns);
  /// One committed transition.
  void add(const residency::TransitionReport& transition);
  /// A plan's committed transitions from `first_action` on; its reservations are admitted between reclaim and enter.
  void add(const residency::PlanReport& report, std::size_t first_action);

  /// Ends every life and hands over what was recorded.
  void finish(std::int64_t time_ns, RunReport& report);

 private:
  using Key = std::pair<residency::HandleId, memory::Location>;
  /// Notes the charges of each location where they changed.
  void sample(std::int64_t time_ns);
  void follow_lives(std::int64_t time_ns);
  std::vector<Key> present() const;

  residency::State state_;
  std::map<Key, std::size_t> open_;  // index into lives_
  std::vector<Life> lives_;
  std::vector<ChargeSample> charges_;
  std::map<memory::Location, std::pair<Bytes, Bytes>> last_;  // used and reserved, as last noted
};

}  // namespace fheres::runtime
