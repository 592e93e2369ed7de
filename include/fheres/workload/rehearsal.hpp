#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fheres/control/search.hpp>
#include <fheres/residency/explain.hpp>
#include <fheres/residency/state.hpp>
#include <fheres/workload/model.hpp>
#include <fheres/workload/program.hpp>

namespace fheres::workload {

enum class Answer { feasible, infeasible, inconclusive };

/// One stage (or request) of a rehearsal. `decision` is absent where the plan was written by hand.
struct StageRehearsal {
  std::string name;
  Place place;
  Answer answer = Answer::feasible;
  std::optional<control::Decision> decision;
  std::optional<control::Infeasible> infeasible;  // the controller's proof
  std::optional<control::Inconclusive> inconclusive;
  /// Of the plan with its body, in the state that the stage before left. Empty where there is no plan.
  residency::Explanation explanation;
};

/// The most that a location is charged, and the stage in which.
struct Peak {
  Location at = Location::pageable_host();
  std::optional<Bytes> budget;
  Bytes charged = 0;
  std::string stage;  // empty: initial placement
};

/// A dry run of everything, with storage-free state only: initial placement, then each stage from the state that the
/// one before leaves. Stops at the first stage that is not feasible. Needs no device and runs no source.
struct Rehearsal {
  Answer answer = Answer::feasible;
  std::string reason;  // one line with the numbers; empty where feasible
  Place place;         // the user's line that it is about
  std::vector<StageRehearsal> stages;
  /// Initial placement: feasible on its own, or why not (then there are no stages). Of requests after a stage: what
  /// that left.
  residency::Explanation placement;
  std::vector<Peak> peaks;     // in location order
  Bytes moved_bytes = 0;       // copied or loaded by stages; initial placement is not counted
  Bytes compacted_bytes = 0;   // slid inside locations, initial placement included (R27)
  residency::State state;      // at the end, or before the stage that failed
  residency::Layout layout{};  // of the budgeted pinned and cuda locations, which begin empty
};

/// Who answers in place of the simulation: a manager that really holds the values, with the same handles. The rehearsal
/// leads it step by step, and says what it says.
struct Witness {
  residency::ManagerId manager{};
  /// Puts every value where it starts, once the simulation has found that this can be; explains an empty plan then.
  std::function<residency::Explanation()> place;
  std::function<control::Outcome(const control::Request&, const control::Policy&,
                                 const control::ValueMetadata&, const control::DecideOptions&)>
      decide;
  /// Explains a plan and, where it is feasible, executes it, with what its body would carve and make.
  std::function<residency::Explanation(const residency::Plan&)> run;
  std::function<void(residency::HandleId)> discard;
};

/// `explain` of a Workload answers for its policy; of a Program, for the plans that it holds; requests are decided in
/// order, and each one's plan is applied before the next. Where stages of a workload have run before them, everything
/// that is told (stages, peaks, bytes) begins after those, unless one of those does not go.
Rehearsal rehearse(const Workload& workload, const control::DecideOptions& options = {},
                   const Witness* witness = nullptr);
Rehearsal rehearse(const Program& program, const Witness* witness = nullptr);
Rehearsal rehearse(const RequestSet& requests, const control::DecideOptions& options = {},
                   const Witness* witness = nullptr);

}  // namespace fheres::workload
