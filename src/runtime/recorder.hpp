#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include <fheres/residency/state.hpp>
#include <fheres/residency/trace.hpp>
#include <fheres/runtime/run_report.hpp>

namespace fheres::runtime {

/// Turns what a manager reports of its transitions into lives and charges over time, by replaying the reports through a
/// State of its own. While stages run it only notes what happened when, which costs a few words: the manager is not asked,
/// and nothing is copied. A mirror, not a judge: what a report says happened, happened.
class Recorder {
 public:
  explicit Recorder(residency::State initial) : state_(std::move(initial)) {}

  // Before the stages, at once.
  /// The live state now, after something that no report describes: this value was adopted.
  void catch_up(residency::State state, residency::HandleId adopted, std::int64_t time_ns);
  /// The same where no value came.
  void catch_up(residency::State state) { state_ = std::move(state); }
  /// One committed transition.
  void add(const residency::TransitionReport& transition);

  // While stages run. They are counted as in RunReport::stages, and their reports are read in the end.
  /// The stage's report has `actions` committed ones now; those before stand in the notes before.
  void note_actions(std::size_t stage, std::size_t actions, std::int64_t time_ns);
  /// Its outputs were adopted.
  void note_outputs(std::size_t stage, std::int64_t time_ns);
  /// Its reservations are gone.
  void note_end(std::size_t stage, std::int64_t time_ns);
  void note_discard(residency::TransitionReport transition);

  /// Replays the notes, ends every life and hands over what was recorded. The report's stages are complete.
  void finish(std::int64_t time_ns, RunReport& report);

 private:
  using Key = std::pair<residency::HandleId, memory::Location>;
  struct Note {
    enum class Kind { actions, outputs, end, discard } kind;
    std::size_t stage = 0;
    std::size_t actions = 0;
    std::int64_t time_ns = 0;
  };
  /// An arrival of the notes, and when it ended.
  struct Arrival {
    residency::ValuePlace place;
    std::int64_t end_ns = 0;
  };

  void replay(const RunReport& report);
  void replay_actions(const StageRun& stage, std::size_t first, std::size_t last, std::int64_t time_ns);
  void replay_outputs(const StageRun& stage, std::int64_t time_ns);
  void settle_until(std::int64_t time_ns);
  void admit(const residency::PlanReport& report, std::int64_t time_ns);
  /// Notes the charges of each location where they changed.
  void sample(std::int64_t time_ns);
  /// After a change of where this value is. A change looks at the value that it is of, however many there are.
  void follow(residency::HandleId value, std::int64_t time_ns);

  residency::State state_;
  std::vector<Note> notes_;
  std::deque<residency::TransitionReport> discards_;
  std::vector<Arrival> arrivals_;
  std::optional<std::vector<residency::ReservationId>> admitted_;  // of the stage that is open
  std::map<Key, std::size_t> open_;                                // index into lives_
  std::vector<Life> lives_;
  std::vector<ChargeSample> charges_;
  std::map<memory::Location, std::pair<Bytes, Bytes>> last_;  // used and reserved, as last noted
};

}  // namespace fheres::runtime
