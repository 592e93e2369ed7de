#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fheres/workload/planned.hpp>
#include <fheres/workload/variants.hpp>

#include "names.hpp"

namespace fheres::workload {
namespace {

std::string places_text(const std::vector<Location>& at) {
  if (at.empty()) return "nowhere";
  std::vector<std::string> names;
  for (const Location place : at) names.push_back(place.name());
  return fmt::format("{}", fmt::join(names, ", "));
}

const char* mode_text(residency::ReplicaMode mode) {
  return mode == residency::ReplicaMode::exclusive ? "exclusive" : "replicable";
}

class Follower {
 public:
  Follower(const Workload& workload, const Program& program) : planned_(workload), program_(program) {}

  Planned run() {
    planned_.world.locations = program_.world.locations;
    planned_.world.peers = program_.world.peers;
    match_values();
    match_stages();
    if (!problems_.empty()) return {std::nullopt, problems_.take()};
    return {std::move(planned_), {}};
  }

 private:
  void differ(const Place& place, std::string message) {
    problems_.add("FHR0522", place, std::move(message));
  }

  // ---- Values: the same ones, by name

  void match_values() {
    const World& plan = program_.world;
    mine_.resize(plan.values.size());
    std::set<ValueIndex> seen;
    for (ValueIndex i = 0; i < plan.values.size(); ++i) {
      const Value& value = plan.values[i];
      const auto found = planned_.world.find(value.name.text);
      if (!found) {
        differ(value.name.place, fmt::format("the workload has no value `{}`", value.name.text));
        continue;
      }
      mine_[i] = *found;
      seen.insert(*found);
      match_value(value, planned_.world.values[*found]);
    }
    for (ValueIndex i = 0; i < planned_.world.values.size(); ++i) {
      if (seen.contains(i)) continue;
      differ(program_.metadata.name.place, fmt::format("the plan has no value `{}`, which the workload has",
                                                       planned_.world.values[i].name.text));
    }
  }

  void match_value(const Value& plan, const Value& own) {
    const auto say = [&](const char* what, const std::string& in_plan, const std::string& in_workload) {
      differ(plan.name.place, fmt::format("`{}` {} {} here, and {} in the workload", plan.name.text, what,
                                          in_plan, in_workload));
    };
    if (plan.spec.storage_bytes != own.spec.storage_bytes)
      say("takes", format_exact_bytes(plan.spec.storage_bytes), format_exact_bytes(own.spec.storage_bytes));
    if (plan.produced_by.has_value() != own.produced_by.has_value()) {
      say("is", plan.produced_by ? "produced" : "declared", own.produced_by ? "produced" : "declared");
    } else if (plan.at != own.at) {
      say("starts at", places_text(plan.at), places_text(own.at));
    }
    if (plan.spec.replica_mode != own.spec.replica_mode)
      say("is", mode_text(plan.spec.replica_mode), mode_text(own.spec.replica_mode));
    if (plan.source != own.source) {
      const auto text = [](const std::optional<Location>& source) {
        return source ? "made at " + source->name() : std::string("not made again");
      };
      say("is", text(plan.source), text(own.source));
    }
    const auto backing = [](const Value& value, const World& world) {
      return value.backing ? "expanded from " + world.values[*value.backing].name.text
                           : std::string("not expanded");
    };
    const std::string here = backing(plan, program_.world), there = backing(own, planned_.world);
    if (here != there) say("is", here, there);
  }

  // ---- Stages: the same ones, in order

  void match_stages() {
    const auto& plans = program_.stages;
    const std::size_t common = std::min(plans.size(), planned_.stages.size());
    for (std::size_t s = 0; s < common; ++s) {
      if (plans[s].name.text != planned_.stages[s].name.text) {
        differ(plans[s].name.place, fmt::format("stage {} is `{}` here, and `{}` in the workload", s + 1,
                                                plans[s].name.text, planned_.stages[s].name.text));
        return;
      }
      if (values_match()) place_stage(plans[s], planned_.stages[s]);
    }
    if (plans.size() != planned_.stages.size()) {
      differ(
          common < plans.size() ? plans[common].name.place : program_.metadata.name.place,
          fmt::format("the plan has {} stages, and the workload {}", plans.size(), planned_.stages.size()));
    }
  }

  bool values_match() const { return problems_.empty(); }

  std::vector<NamedAction> translate(std::vector<NamedAction> actions) const {
    for (NamedAction& action : actions) action.value = mine_[action.value];
    return actions;
  }

  void place_stage(const ProgramStage& plan, Stage& stage) {
    stage.plan = ManualPlan{translate(plan.reclaim), translate(plan.enter), translate(plan.prefetch),
                            translate(plan.exit), plan.name.place};
    stage.reserve = plan.reserve;
    stage.automatic_reserve = false;
    stage.release = plan.release;
    for (Operand& operand : stage.release) operand.index = mine_[operand.index];
    if (!stage.at || stage.body.empty()) {
      if (!plan.produce.empty())
        differ(plan.produce.front().place,
               fmt::format("stage `{}` produces nothing in the workload", plan.name.text));
      return;
    }
    std::vector<residency::ReservationSpec> specs;
    for (const Reservation& reservation : stage.reserve) specs.push_back(reservation.spec);
    for (std::string& problem : assign_reservations(stage.layout, specs, *stage.at))
      differ(plan.name.place, fmt::format("stage `{}`: {}", plan.name.text, problem));
    match_outputs(plan, stage);
  }

  void match_outputs(const ProgramStage& plan, Stage& stage) {
    std::vector<bool> made(stage.outputs.size());
    for (const Produced& item : plan.produce) {
      const auto output = std::find_if(stage.outputs.begin(), stage.outputs.end(),
                                       [&](const Output& known) { return known.value == mine_[item.value]; });
      if (output == stage.outputs.end() || item.at != *stage.at) {
        differ(item.place, fmt::format("stage `{}` of the workload does not make `{}` at {}", plan.name.text,
                                       program_.world.values[item.value].name.text, item.at.name()));
        continue;
      }
      const auto index = static_cast<std::size_t>(output - stage.outputs.begin());
      made[index] = true;
      stage.layout.output_from[index] = item.from;
    }
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (made[i]) continue;
      differ(plan.name.place,
             fmt::format("stage `{}` does not produce `{}`, an output of the workload's", plan.name.text,
                         planned_.world.values[stage.outputs[i].value].name.text));
    }
  }

  Workload planned_;
  const Program& program_;
  Problems problems_;
  std::vector<ValueIndex> mine_;  // the workload's index of a Program's value
};

}  // namespace

Planned follow(const Workload& workload, const Program& program) {
  Selected selected = select(workload, program);
  if (!selected.workload) return {std::nullopt, std::move(selected.problems)};
  return Follower(*selected.workload, program).run();
}

}  // namespace fheres::workload
