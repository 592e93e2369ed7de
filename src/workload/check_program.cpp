#include <fmt/format.h>

#include <fheres/workload/check.hpp>

#include "names.hpp"
#include "references.hpp"
#include "world.hpp"

namespace fheres::workload {
namespace {

class ProgramChecker {
 public:
  explicit ProgramChecker(const ProgramDraft& draft)
      : draft_(draft),
        check_(check_world(draft.world, problems_)),
        references_(check_.world, check_.names, problems_) {}

  CheckedProgram run() {
    std::vector<Name> names;
    std::vector<std::string> texts;
    for (const ProgramStageDraft& stage : draft_.stages) {
      names.push_back(stage.name);
      texts.push_back(stage.name.text);
    }
    check_unique(names, "stage", problems_);
    references_.set_stages(std::move(texts));
    stages_.resize(draft_.stages.size());
    for (std::size_t s = 0; s < stages_.size(); ++s) declare(s);
    for (std::size_t s = 0; s < stages_.size(); ++s) resolve(s);
    if (!problems_.empty()) return {std::nullopt, problems_.take()};
    return {Program{draft_.metadata, draft_.workload, std::move(check_.world), std::move(stages_),
                    draft_.evidence},
            {}};
  }

 private:
  void declare(std::size_t s) {
    const ProgramStageDraft& draft = draft_.stages[s];
    std::vector<Bytes> taken(draft.reserve.size());
    for (const ProducedDraft& produced : draft.produce) {
      Value value;
      value.name = produced.name;
      value.spec = make_bytes_spec(produced.name.text, produced.bytes, residency::ReplicaMode::replicable);
      value.produced_by = s;
      const ValueIndex index = check_.world.values.size();
      const Bytes charge = value.spec.storage_bytes;
      check_.names.define(produced.name, {produced.name.place, index, s, {}}, problems_);
      check_.world.values.push_back(std::move(value));
      const auto from = reservation(draft, produced.from, produced.at);
      if (!from) continue;
      taken[*from] = checked_add(taken[*from], charge);
      stages_[s].produce.push_back({index, produced.at, *from, produced.name.place});
      const Bytes room = round_up_to_granule(draft.reserve[*from].spec.bytes);
      if (taken[*from] > room) {
        problems_.add(
            "FHR0501", produced.from.place,
            fmt::format("reservation `{}` has {}, and what is produced from it takes {}", produced.from.text,
                        format_exact_bytes(room), format_exact_bytes(taken[*from])));
      }
    }
  }

  /// Without a location: the first with that label.
  std::optional<std::size_t> reservation(const ProgramStageDraft& draft, const Name& label,
                                         std::optional<Location> at) {
    std::vector<std::string> labels;
    for (std::size_t i = 0; i < draft.reserve.size(); ++i) {
      const residency::ReservationSpec& spec = draft.reserve[i].spec;
      if (spec.label == label.text && (!at || spec.at == *at)) return i;
      labels.push_back(spec.label);
    }
    const std::string near = closest(label.text, labels);
    problems_.add("FHR0501", label.place,
                  fmt::format("no reservation{} is labelled `{}`", at ? " at " + at->name() : "", label.text),
                  near.empty() ? "" : fmt::format("did you mean `{}`?", near));
    return std::nullopt;
  }

  /// The body's blocks and what it makes are out of one reservation at once.
  void carve(std::size_t s) {
    const ProgramStageDraft& draft = draft_.stages[s];
    std::vector<Bytes> taken(draft.reserve.size());
    for (const Produced& item : stages_[s].produce)
      taken[item.from] = checked_add(taken[item.from], check_.world.values[item.value].spec.storage_bytes);
    for (const CarvedDraft& block : draft.workspace) {
      const auto from = reservation(draft, block.from, std::nullopt);
      if (!from) continue;
      taken[*from] = checked_add(taken[*from], round_up_to_granule(block.bytes));
      const Bytes room = round_up_to_granule(draft.reserve[*from].spec.bytes);
      if (taken[*from] > room) {
        problems_.add(
            "FHR0501", block.from.place,
            fmt::format("reservation `{}` has {}, and what the body takes from it has {}", block.from.text,
                        format_exact_bytes(room), format_exact_bytes(taken[*from])));
      } else {
        stages_[s].workspace.push_back({*from, block.bytes});
      }
    }
  }

  void resolve(std::size_t s) {
    const ProgramStageDraft& draft = draft_.stages[s];
    ProgramStage& stage = stages_[s];
    stage.name = draft.name;
    stage.variant = draft.variant;
    stage.reserve = draft.reserve;
    stage.reclaim = references_.actions(draft.reclaim, {s, false});
    stage.enter = references_.actions(draft.enter, {s, false});
    stage.prefetch = references_.prefetch(draft.prefetch, {s, false});
    references_.requirements(draft.require, {s, false}, stage.require);
    carve(s);
    stage.exit = references_.actions(draft.exit, {s, true});
    for (const Name& name : draft.release) {
      if (const auto value = references_.release(name, s)) stage.release.push_back(*value);
    }
  }

  const ProgramDraft& draft_;
  Problems problems_;
  WorldCheck check_;
  References references_;
  std::vector<ProgramStage> stages_;
};

}  // namespace

CheckedProgram check(const ProgramDraft& draft) { return ProgramChecker(draft).run(); }

}  // namespace fheres::workload
