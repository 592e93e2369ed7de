#include "replay.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <fheres/residency/explain.hpp>

namespace fheres::compile {
namespace {

using residency::Layout;
using residency::Refusal;
using residency::State;
using workload::Program;
using workload::ProgramStage;
using workload::Value;
using workload::ValueIndex;

constexpr residency::ManagerId kReplay{1};  // no handle leaves it

class Run {
 public:
  explicit Run(const Program& program)
      : program_(program),
        budgets_(program.world.budgets()),
        state_(kReplay, budgets_, {}, program.world.copies()),
        layout_(budgets_),
        handles_(program.world.values.size()) {}

  Replay run() {
    for (const ValueIndex v : program_.world.placement_order())
      if (!place(v)) return std::move(result_);
    note_placement();
    for (std::size_t s = 0; s < program_.stages.size(); ++s)
      if (!stage(s)) return std::move(result_);
    result_.feasible = true;
    return std::move(result_);
  }

 private:
  bool place(ValueIndex v) {
    const Value& value = program_.world.values[v];
    if (value.produced_by) {
      handles_[v] = state_.announce(value.spec);
      return true;
    }
    std::vector<memory::Location> rest = value.at;
    if (value.backing) {
      auto backed = state_.register_backed(value.spec, handles_[*value.backing]);
      if (const auto* refusal = std::get_if<Refusal>(&backed))
        return fail(std::nullopt, *refusal, value.name.text);
      handles_[v] = std::get<residency::HandleId>(backed);
    } else if (value.source) {
      handles_[v] = state_.register_source(value.spec, *value.source);
    } else {
      auto adopted = state_.adopt(value.spec, rest.front(), value.spec.logical_bytes);
      if (const auto* refusal = std::get_if<Refusal>(&adopted))
        return fail(std::nullopt, *refusal, value.name.text);
      handles_[v] = std::get<residency::HandleId>(adopted);
      auto placed = layout_.place(state_, handles_[v], rest.front(), value.spec.logical_bytes);
      if (const auto* refusal = std::get_if<Refusal>(&placed))
        return fail(std::nullopt, *refusal, value.name.text);
      count_compaction(std::get<Bytes>(placed));
      rest.erase(rest.begin());
    }
    for (const memory::Location at : rest) {
      const residency::Action action = residency::Ensure{handles_[v], at, {}};
      auto next = residency::simulate(std::move(state_), std::move(layout_), "initial placement",
                                      std::span(&action, 1), residency::Detail::brief);
      state_ = std::move(next.state);
      layout_ = std::move(next.layout);
      if (next.explanation.refusal) return fail(std::nullopt, *next.explanation.refusal, value.name.text);
      count_compaction(next.explanation.compacted_bytes());
      // A load has a charge of its own meanwhile.
      for (const residency::LocationExplanation& location : next.explanation.locations)
        note(location.at, location.peak_charged, "");
    }
    return true;
  }

  void note_placement() {
    for (const residency::Account& account : state_.accounts())
      note(account.at, account.used + account.reserved, "");
  }

  bool stage(std::size_t s) {
    const ProgramStage& stage = program_.stages[s];
    std::vector<char> there;
    for (const workload::Requirement& item : stage.require)
      there.push_back(state_.record(handles_[item.value]).at(item.at) != nullptr ? 1 : 0);
    auto next = residency::simulate(std::move(state_), std::move(layout_), workload::plan_of(stage, handles_),
                                    residency::Detail::brief);
    state_ = std::move(next.state);
    layout_ = std::move(next.layout);
    const residency::Explanation& told = next.explanation;
    if (!told.feasible) {
      result_.stage = s;
      result_.refusal = told.refusal;
      result_.reason = fmt::format("stage {}: {}", stage.name.text, told.reason);
      return false;
    }
    if (!meets(stage, std::move(there), told)) return false;
    for (const residency::LocationExplanation& location : told.locations)
      note(location.at, location.peak_charged, stage.name.text);
    for (const residency::ActionExplanation& action : told.actions) {
      result_.moved_bytes += action.bytes;
      counted_ += action.compacted;
      count_compaction(action.compacted);
    }
    // What the body's blocks needed is in the locations' figures alone.
    count_compaction(told.compacted_bytes() - std::exchange(counted_, 0));
    for (const workload::Operand& item : stage.release) {
      const residency::Discard discard{handles_[item.index]};
      for (const residency::ValuePlace& arrival : state_.arrivals_in_the_way(discard))
        residency::settle(state_, layout_, arrival);
      std::vector<memory::Location> places;
      for (const residency::Materialization& m : state_.record(discard.value).materializations)
        places.push_back(m.at);
      auto outcome = state_.apply(discard);
      if (const auto* refusal = std::get_if<Refusal>(&outcome)) return fail(s, *refusal, stage.name.text);
      for (const memory::Location at : places) layout_.remove(discard.value, at);
    }
    return true;
  }

  /// Whether the body finds what it reads: what was there, as the actions before it leave it.
  bool meets(const ProgramStage& stage, std::vector<char> there, const residency::Explanation& told) {
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> asked;
    for (std::size_t i = 0; i < there.size(); ++i)
      asked[handles_[stage.require[i].value].serial].push_back(i);
    for (const residency::ActionExplanation& action : told.actions) {
      if (action.phase == residency::Phase::exit || action.no_op) continue;
      const auto found = asked.find(residency::value_of(action.action).serial);
      if (found == asked.end()) continue;
      const bool takes = !std::holds_alternative<residency::Ensure>(action.action);
      for (const std::size_t i : found->second) {
        if (takes && action.source == stage.require[i].at) there[i] = 0;
        if (action.destination == stage.require[i].at) there[i] = 1;
      }
    }
    for (std::size_t i = 0; i < there.size(); ++i) {
      if (there[i]) continue;
      const workload::Requirement& item = stage.require[i];
      result_.reason = fmt::format("stage {}: {} is not at {} when the body starts", stage.name.text,
                                   program_.world.values[item.value].name.text, item.at.name());
      return false;
    }
    return true;
  }

  void note(memory::Location at, Bytes bytes, const std::string& stage) {
    auto& peaks = result_.peaks;
    auto found =
        std::lower_bound(peaks.begin(), peaks.end(), at,
                         [](const workload::PeakEvidence& peak, memory::Location l) { return peak.at < l; });
    if (found == peaks.end() || found->at != at) found = peaks.insert(found, {at, 0, stage});
    if (bytes <= found->bytes) return;
    found->bytes = bytes;
    found->stage = stage;
  }

  void count_compaction(Bytes bytes) {
    result_.compacted_bytes += bytes;
    if (bytes != 0) ++result_.compactions;
  }

  bool fail(std::optional<std::size_t> stage, const Refusal& refusal, const std::string& name) {
    result_.stage = stage;
    result_.refusal = refusal;
    result_.reason = fmt::format("{}{}: {}", stage ? "stage " : "initial placement of ", name,
                                 residency::describe(refusal, state_));
    return false;
  }

  const Program& program_;
  std::map<memory::Location, Bytes> budgets_;
  State state_;
  Layout layout_;
  std::vector<residency::HandleId> handles_;
  Replay result_;
  Bytes counted_ = 0;
};

}  // namespace

Replay replay(const Program& program) { return Run(program).run(); }

}  // namespace fheres::compile
