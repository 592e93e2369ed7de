#include <algorithm>

#include <fmt/format.h>

#include <fheres/compile/movements.hpp>
#include <fheres/workload/rehearsal.hpp>

namespace fheres::compile {
namespace {

using workload::Rehearsal;
using workload::Value;
using workload::World;

std::map<std::string, ValueFacts> facts_of(const World& world) {
  std::map<std::string, ValueFacts> facts;
  for (const Value& value : world.values) {
    ValueFacts fact{
        value.spec.logical_bytes, {value.at.begin(), value.at.end()}, value.spec.type, value.variant};
    if (!value.spec.metadata.empty()) fact.kind += " " + value.spec.metadata;
    if (value.spec.replica_mode == residency::ReplicaMode::exclusive) fact.kind += ", exclusive";
    if (value.source) fact.kind += ", made again at " + value.source->name();
    if (value.file) fact.kind += ", from " + *value.file;
    if (value.backing) fact.kind += ", expanded from " + world.values[*value.backing].name.text;
    if (value.produced_by) fact.kind += ", made by a stage";
    facts.emplace(value.name.text, std::move(fact));
  }
  return facts;
}

/// Follows a rehearsal: what each action did, and what stages make and release.
class Follower {
 public:
  Follower(const std::string& name, const World& world, const Rehearsal& rehearsal)
      : world_(world), rehearsal_(rehearsal) {
    result_.name = name;
    result_.trouble = rehearsal.reason;
    result_.values = facts_of(world);
    result_.budgets = world.budgets();
    result_.moved_bytes = rehearsal.moved_bytes;
    for (const workload::Peak& peak : rehearsal.peaks) result_.peaks[peak.at] = peak.charged;
    for (const Value& value : world.values) where_[value.name.text] = {value.at.begin(), value.at.end()};
  }

  void begin(std::size_t stage) {
    told_ = &rehearsal_.stages[stage].explanation;
    StageMovements& now = result_.stages.emplace_back();
    now.name = rehearsal_.stages[stage].name;
    for (const auto& item : told_->reservations)
      now.reservations[{item.spec.at, item.spec.label}] += item.spec.bytes;
  }

  /// The actions before the body, or those after it.
  void act(bool after_body) {
    for (const residency::ActionExplanation& action : told_->actions) {
      if ((action.phase == residency::Phase::exit) != after_body || !action.executable || action.no_op)
        continue;
      const std::string& value = rehearsal_.state.record(residency::value_of(action.action)).spec->name;
      const std::string phase = residency::name(action.phase);
      const bool is_drop = std::holds_alternative<residency::Drop>(action.action);
      const bool is_move = std::holds_alternative<residency::Move>(action.action);
      std::set<Location>& where = where_[value];
      std::optional<Location> gone;
      if (is_drop || (is_move && (where.contains(*action.source)))) gone = action.source;
      if (!is_drop && !where.contains(*action.destination)) {
        add({Step::Kind::arrives, value, *action.destination, action.source, action.bytes, phase});
        where.insert(*action.destination);
      }
      if (!gone) continue;
      add({Step::Kind::leaves, value, *gone, {}, 0, phase});
      where.erase(*gone);
    }
  }

  void make(workload::ValueIndex value, Location at) {
    const std::string& name = world_.values[value].name.text;
    if (!told_->feasible) return;
    add({Step::Kind::made, name, at, {}, 0, "body"});
    where_[name].insert(at);
  }

  void release(const std::vector<workload::Operand>& values) {
    if (!told_->feasible) return;
    for (const workload::Operand& operand : values) {
      const std::string& name = world_.values[operand.index].name.text;
      for (const Location at : std::exchange(where_[name], {}))
        add({Step::Kind::leaves, name, at, {}, 0, "release"});
    }
  }

  StageMovements& now() { return result_.stages.back(); }
  Movements take() { return std::move(result_); }

 private:
  void add(Step step) { now().steps.push_back(std::move(step)); }

  const World& world_;
  const Rehearsal& rehearsal_;
  const residency::Explanation* told_ = nullptr;
  std::map<std::string, std::set<Location>> where_;
  Movements result_;
};

std::string line_of(const workload::Stage& stage, const workload::BodyOperation& operation,
                    const World& world) {
  const auto operand = [&](const workload::Operand& item) {
    return item.from == workload::Operand::From::value ? world.values[item.index].name.text
                                                       : stage.body[item.index].result.text;
  };
  std::string line = fmt::format("{}: {}", operation.result.text, workload::name(operation));
  for (const workload::Operand& item : operation.operands) line += " " + operand(item);
  if (operation.key) line += " key " + operand(*operation.key);
  for (const workload::Operand& item : operation.keys) line += " key " + operand(item);
  return line;
}

}  // namespace

Movements movements_of(const workload::Program& program) {
  const Rehearsal rehearsal = rehearse(program);
  Follower follower(program.metadata.name.text, program.world, rehearsal);
  for (std::size_t i = 0; i < rehearsal.stages.size(); ++i) {
    follower.begin(i);
    follower.now().variant = program.stages[i].variant;
    follower.act(false);
    for (const workload::Produced& item : program.stages[i].produce) follower.make(item.value, item.at);
    follower.act(true);
    follower.release(program.stages[i].release);
  }
  return follower.take();
}

Movements movements_of(const workload::Workload& workload, const control::DecideOptions& options) {
  const Rehearsal rehearsal = rehearse(workload, options);
  const World& world = workload.world;
  Follower follower(workload.metadata.name.text, world, rehearsal);
  for (std::size_t i = 0; i < rehearsal.stages.size(); ++i) {
    const workload::Stage& stage = workload.stages[i];
    follower.begin(i);
    StageMovements& now = follower.now();
    now.variant = stage.variant;
    now.uses.emplace();
    for (const workload::Requirement& item : stage.require)
      now.uses->emplace(world.values[item.value].name.text, item.at);
    for (const workload::BodyOperation& operation : stage.body)
      now.body.push_back(line_of(stage, operation, world));
    follower.act(false);
    for (const workload::Output& output : stage.outputs) follower.make(output.value, *stage.at);
    follower.act(true);
    follower.release(stage.release);
  }
  return follower.take();
}

}  // namespace fheres::compile
