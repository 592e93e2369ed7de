#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <fheres/workload/machine.hpp>
#include <fheres/workload/model.hpp>
#include <fheres/workload/program.hpp>

namespace fheres::compile {

using memory::Location;

struct CompileOptions {
  /// Nodes that branch and bound may open, never a time: so equal inputs give equal answers. 0: none; absent: as many as
  /// the workload's size allows within a second or so.
  std::optional<std::uint64_t> node_limit{};
  /// With one, transfers are placed ahead of their use where that is faster, and evidence says how long the plan takes.
  std::optional<workload::Machine> machine{};
  /// time: of the plans (and variants) that were found, the fastest on the machine, and not the one that moves least. Needs a machine.
  enum class Minimize { bytes, time } minimize = Minimize::bytes;
  /// Of each decision, for the plan that the controller makes stage by stage.
  std::uint64_t search_state_limit = 200'000;
};

/// A way to a plan that was tried, and what came of it.
struct Attempt {
  std::string method;
  std::optional<Bytes> moved_bytes;    // absent: it found no plan that replays
  std::string reason;                  // why not; empty otherwise
  std::optional<std::size_t> stuck{};  // the stage that refused it, where it was one
};

/// A plan for the whole workload, that replays through residency::State and the arenas, and what is known of how good it
/// is (Program::evidence).
struct Compiled {
  workload::Program program;
  std::vector<Attempt> attempts;
};

/// One line of what cannot hold together.
struct Line {
  enum class Kind {
    budget,
    requirement,  // of the stage
    reservation,  // of the stage
    only_copy,    // it is there, must be preserved, and the policy has no tier for it
    placement,    // it starts there
    confined,     // an only copy that has nowhere else to go: the policy's tiers are short themselves
  };
  Kind kind = Kind::budget;
  std::string name;  // of the value, or the reservation's label
  Bytes bytes = 0;
  workload::Place place;  // in the user's document

  /// `rot1: 18 MiB, required`.
  std::string text() const;
};

/// No plan serves the workload under its budgets: proven by a sum.
struct Infeasible {
  std::string stage;  // empty: initial placement
  Location at = Location::pageable_host();
  Bytes budget =
      0;  // of all locations whose budgets are among the lines: where an only copy may go, it needs room too
  Bytes short_by = 0;  // of the whole sum
  /// Exceeds the budget; without any single line the rest would fit. The budgets' own lines come first.
  std::vector<Line> lines;
  std::string reason;  // one line with the numbers
};

/// No plan was found, and no proof that there is none.
struct Inconclusive {
  std::vector<Attempt> attempts;
  std::string reason;
};

using Outcome = std::variant<Compiled, Infeasible, Inconclusive>;

/// A plan for the whole workload, ahead of time: what to keep where between uses, what to let go, and when to bring it
/// back, under the budgets of the workload's world and the tiers of its policy. Plans that stages carry by hand are one
/// more way to try, and nothing that has to stay. Where the workload leaves variants open (Workload::questions), one of
/// each is chosen as well, for the whole workload: the program is one of workload::select, names the variants, and its
/// evidence says what the others come to; lower bound and infeasibility hold for all combinations. Pure and deterministic: equal arguments give equal answers.
Outcome compile(const workload::Workload& workload, const CompileOptions& options = {});

}  // namespace fheres::compile
