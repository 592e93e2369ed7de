#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <fheres/verify/checks.hpp>
#include <fheres/workload/variants.hpp>

#include "verify/against_workload.hpp"

namespace fheres::verify {
namespace {

using workload::Evidence;

/// What a plan says of itself, against what was counted.
class EvidenceCheck {
 public:
  EvidenceCheck(const workload::Program& program, const Replay& replay)
      : program_(program), evidence_(*program.evidence), replay_(replay) {}

  std::vector<Violation> run() {
    if (evidence_.lower_bound_bytes > evidence_.moved_bytes)
      report(fmt::format("no plan moves less than {}, it says, and this one moves {}",
                         format_exact_bytes(evidence_.lower_bound_bytes),
                         format_exact_bytes(evidence_.moved_bytes)));
    compare_variants();
    // What was left out of an unsound plan is missing in its figures too.
    if (!replay_.sound()) return std::move(violations_);
    compare_bytes("moved_bytes", evidence_.moved_bytes, replay_.moved_bytes);
    compare_bytes("compacted_bytes", evidence_.compacted_bytes, replay_.compacted_bytes);
    if (evidence_.compactions != replay_.compactions)
      report(fmt::format("compactions is {}, the replay has {}", evidence_.compactions, replay_.compactions));
    compare_peaks();
    return std::move(violations_);
  }

 private:
  void compare_bytes(const char* key, Bytes says, Bytes is) {
    if (says != is)
      report(
          fmt::format("{} is {}, the replay has {}", key, format_exact_bytes(says), format_exact_bytes(is)));
  }

  /// The evidence speaks of the variants that the plan has, and of all of them.
  void compare_variants() {
    using About = workload::Question::About;
    std::map<std::pair<About, std::string>, std::string> has;
    for (const workload::Value& value : program_.world.values)
      if (!value.variant.empty()) has.emplace(std::pair(About::value, value.name.text), value.variant);
    for (const workload::ProgramStage& stage : program_.stages)
      if (!stage.variant.empty()) has.emplace(std::pair(About::stage, stage.name.text), stage.variant);
    const auto text = [](About about, const std::string& name) {
      return (about == About::stage ? "stage " : "") + name;
    };
    for (const workload::VariantEvidence& item : evidence_.variants) {
      const auto found = has.find({item.about, item.name});
      if (found == has.end()) {
        report(fmt::format("{} is {}, and the plan has no variant of it", text(item.about, item.name),
                           item.chosen));
        continue;
      }
      if (found->second != item.chosen)
        report(fmt::format("{} is {}, and the plan has it {}", text(item.about, item.name), item.chosen,
                           found->second));
      has.erase(found);
    }
    for (const auto& [key, variant] : has)
      report(
          fmt::format("nothing is said of {}, which the plan has {}", text(key.first, key.second), variant));
  }

  void compare_peaks() {
    for (const LocationFigures& figures : replay_.locations) {
      const auto says =
          std::find_if(evidence_.peaks.begin(), evidence_.peaks.end(),
                       [&](const workload::PeakEvidence& peak) { return peak.at == figures.at; });
      const Bytes bytes = says == evidence_.peaks.end() ? 0 : says->bytes;
      if (bytes != figures.peak) {
        report(fmt::format("the peak of {} is {}, the replay has {} in {}", figures.at.name(),
                           format_exact_bytes(bytes), format_exact_bytes(figures.peak),
                           stage(figures.peak_stage)));
      } else if (bytes != 0 && says->stage != figures.peak_stage) {
        report(fmt::format("the peak of {} is in {}, the replay has it in {}", figures.at.name(),
                           stage(says->stage), stage(figures.peak_stage)));
      }
    }
    for (const workload::PeakEvidence& peak : evidence_.peaks) {
      const bool is_known =
          std::any_of(replay_.locations.begin(), replay_.locations.end(),
                      [&](const LocationFigures& figures) { return figures.at == peak.at; });
      if (!is_known && peak.bytes != 0)
        report(fmt::format("the peak of {} is {}, and nothing is ever there", peak.at.name(),
                           format_exact_bytes(peak.bytes)));
    }
  }

  static std::string stage(const std::string& name) {
    return name.empty() ? "the initial placement" : "stage " + name;
  }

  void report(std::string message) {
    violations_.push_back({0, "", Phase::evidence, 0, {}, "evidence: " + std::move(message)});
  }

  const workload::Program& program_;
  const Evidence& evidence_;
  const Replay& replay_;
  std::vector<Violation> violations_;
};

/// Against the workload in the variants that the plan names.
Comparison compare_chosen(const workload::Program& program, const workload::Workload& workload) {
  workload::Selected selected = workload::select(workload, program);
  if (selected.workload) return compare(program, *selected.workload);
  Comparison comparison;
  comparison.required.resize(program.stages.size());
  for (workload::Problem& problem : selected.problems)
    comparison.violations.push_back({0, "", Phase::workload, 0, problem.place, std::move(problem.message)});
  return comparison;
}

}  // namespace

Verification check(const workload::Program& program, const workload::Workload* workload) {
  Verification result;
  Comparison comparison;
  if (workload != nullptr) comparison = compare_chosen(program, *workload);
  result.has_workload = workload != nullptr;
  result.has_evidence = program.evidence.has_value();
  result.replay = replay(program, comparison.required);
  result.violations = result.replay.violations;
  const auto append = [&](std::vector<Violation> more) {
    for (Violation& violation : more) result.violations.push_back(std::move(violation));
  };
  if (program.evidence) append(EvidenceCheck(program, result.replay).run());
  append(std::move(comparison.violations));
  return result;
}

}  // namespace fheres::verify
