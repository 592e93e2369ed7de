#include "verify/random_program.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include <fmt/format.h>

namespace fheres::verify::testing {
namespace {

using test::Random;
using workload::Location;
using workload::NamedAction;
using workload::Program;
using workload::ProgramStage;
using workload::Value;
using workload::ValueIndex;
using Verb = NamedAction::Verb;

const Location kPlaces[] = {Location::pageable_host(), Location::pinned_host(), Location::cuda(0),
                            Location::cuda(1)};

Location any_place(Random& random) { return kPlaces[random.below(std::size(kPlaces))]; }
Bytes any_size(Random& random) {
  const Bytes granules = random.below(9);
  return granules == 0 ? random.below(300) : granules * kGranule - random.below(2) * random.below(kGranule);
}

/// What the generator believes of where values are: only to make actions that mostly make sense.
class Maker {
 public:
  explicit Maker(Random& random) : random_(random) {}

  Program make() {
    locations();
    const std::size_t values = 2 + random_.below(6);
    for (std::size_t i = 0; i < values; ++i) value();
    const std::size_t stages = 1 + random_.below(5);
    for (std::size_t i = 0; i < stages; ++i) stage();
    return std::move(program_);
  }

 private:
  void locations() {
    program_.metadata.name.text = "random";
    for (const Location at : kPlaces) {
      if (at == Location::pageable_host() ? !random_.chance(8) : random_.chance(4)) continue;
      // Rarely a budget that is no whole number of granules.
      const Bytes budget =
          (8 + random_.below(28)) * kGranule + (random_.chance(6) ? random_.below(kGranule) : 0);
      program_.world.locations.push_back({at, budget, {}});
    }
    if (random_.chance(2)) program_.world.peers.emplace_back(Location::cuda(0), Location::cuda(1));
  }

  void value() {
    Value value;
    const ValueIndex index = program_.world.values.size();
    value.name.text = fmt::format("v{}", index);
    const auto mode =
        random_.chance(5) ? residency::ReplicaMode::exclusive : residency::ReplicaMode::replicable;
    value.spec = workload::make_bytes_spec(value.name.text, any_size(random_), mode);
    if (random_.chance(5)) {
      value.source = any_place(random_);
      value.spec.recoverability = residency::Recoverability::reconstructible;
    } else if (index > 0 && random_.chance(4)) {
      const ValueIndex backing = random_.below(index);
      if (!program_.world.values[backing].backing && !program_.world.values[backing].at.empty()) {
        value.backing = backing;
        value.spec.recoverability = residency::Recoverability::reconstructible;
      }
    }
    const bool must_start = !value.source && !value.backing;
    std::set<Location> at;
    if (must_start || random_.chance(3)) at.insert(any_place(random_));
    if (mode != residency::ReplicaMode::exclusive && random_.chance(3)) at.insert(any_place(random_));
    value.at.assign(at.begin(), at.end());
    where_.push_back(at);
    program_.world.values.push_back(std::move(value));
  }

  ValueIndex any_value() { return random_.below(where_.size()); }

  std::vector<NamedAction> actions(std::size_t most, bool drops) {
    std::vector<NamedAction> list;
    for (std::size_t left = random_.below(most + 1); left > 0; --left) {
      const ValueIndex value = any_value();
      if (gone_.contains(value) && !random_.chance(30)) continue;
      std::set<Location>& where = where_[value];
      NamedAction action;
      action.value = value;
      action.at = any_place(random_);
      const auto one_there = [&] {
        return *std::next(where.begin(), static_cast<std::ptrdiff_t>(random_.below(where.size())));
      };
      if (drops && !where.empty() && random_.chance(2)) {
        action.verb = Verb::drop;
        action.at = random_.chance(20) ? action.at : one_there();
        const auto& what = program_.world.values[value];
        if (where.size() == 1 && !what.source && !what.backing && !random_.chance(20)) continue;
        where.erase(action.at);
      } else {
        const bool is_exclusive =
            program_.world.values[value].spec.replica_mode == residency::ReplicaMode::exclusive;
        action.verb = is_exclusive || random_.chance(4) ? Verb::move : Verb::ensure;
        if (is_exclusive && where.empty()) action.verb = Verb::ensure;
        if (!where.empty() && random_.chance(4))
          action.from = random_.chance(20) ? any_place(random_) : one_there();
        if (action.verb == Verb::move && !where.empty())
          where.erase(action.from ? *action.from : *where.begin());
        where.insert(action.at);
      }
      list.push_back(action);
    }
    return list;
  }

  void stage() {
    ProgramStage stage;
    const std::size_t number = program_.stages.size();
    stage.name.text = fmt::format("s{}", number);
    stage.reclaim = actions(2, true);
    for (std::size_t left = random_.below(3); left > 0; --left) {
      const Location at = random_.chance(4) ? any_place(random_) : Location::cuda(0);
      stage.reserve.push_back({{at, any_size(random_) * 2, fmt::format("r{}", left)}, {}});
    }
    stage.enter = actions(3, false);
    for (NamedAction& action : actions(2, false)) {
      if (action.verb != Verb::ensure) continue;
      const auto& where = where_[action.value];
      if (!random_.chance(8) && (action.at == kPlaces[0] || where.contains(kPlaces[0]))) continue;
      stage.prefetch.push_back(action);
    }
    for (std::size_t i = 0; i < stage.reserve.size(); ++i) {
      if (!random_.chance(2)) continue;
      const auto& spec = stage.reserve[i].spec;
      Value value;
      value.name.text = fmt::format("y{}.{}", number, i);
      const Bytes bytes = random_.chance(12) ? any_size(random_) : spec.bytes / (1 + random_.below(2));
      value.spec = workload::make_bytes_spec(value.name.text, bytes, residency::ReplicaMode::replicable);
      value.produced_by = number;
      stage.produce.push_back({program_.world.values.size(), spec.at, i, {}});
      where_.push_back({spec.at});
      program_.world.values.push_back(std::move(value));
    }
    std::vector<Bytes> left;
    for (const auto& item : stage.reserve) left.push_back(round_up_to_granule(item.spec.bytes));
    for (const auto& item : stage.produce)
      left[item.from] -= std::min(left[item.from], program_.world.values[item.value].spec.storage_bytes);
    for (std::size_t i = 0; i < left.size(); ++i)
      if (random_.chance(3)) stage.workspace.push_back({i, left[i] / (1 + random_.below(2))});
    stage.exit = actions(3, true);
    if (random_.chance(2)) {
      const ValueIndex value = any_value();
      if (!gone_.contains(value) || random_.chance(20)) {
        stage.release.push_back({workload::Operand::From::value, value, {}});
        gone_.insert(value);
        where_[value].clear();
      }
    }
    program_.stages.push_back(std::move(stage));
  }

  Random& random_;
  Program program_;
  std::vector<std::set<Location>> where_;
  std::set<ValueIndex> gone_;
};

std::vector<NamedAction>& any_list(ProgramStage& stage, Random& random) {
  std::vector<NamedAction>* lists[] = {&stage.reclaim, &stage.enter, &stage.prefetch, &stage.exit};
  return *lists[random.below(4)];
}

std::string text(const NamedAction& action, const Program& program) {
  const char* verbs[] = {"ensure", "move", "drop"};
  return fmt::format("{} {} {}{}; ", verbs[static_cast<int>(action.verb)],
                     program.world.values[action.value].name.text, action.at.name(),
                     action.from ? " from " + action.from->name() : "");
}

}  // namespace

Program random_program(Random& random) { return Maker(random).make(); }

namespace {

void change(Program& program, Random& random) {
  ProgramStage& stage = program.stages[random.below(program.stages.size())];
  std::vector<NamedAction>& list = any_list(stage, random);
  const auto some = [&](const auto& items) {
    return static_cast<std::ptrdiff_t>(random.below(items.size()));
  };
  auto& values = program.world.values;
  switch (random.below(12)) {
    case 0:
      if (!list.empty()) list.erase(list.begin() + some(list));
      break;
    case 1:
      if (!list.empty()) list.insert(list.begin() + some(list), list[random.below(list.size())]);
      break;
    case 2:
      if (!list.empty()) list[random.below(list.size())].at = any_place(random);
      break;
    case 3:
      if (!list.empty()) list[random.below(list.size())].from = any_place(random);
      break;
    case 4:
      if (!list.empty()) list[random.below(list.size())].value = random.below(values.size());
      break;
    case 5:
      if (list.size() > 1) std::swap(list.front(), list.back());
      break;
    case 6: {
      // A prefetch is an ensure, and stays one.
      std::vector<NamedAction>& other = any_list(program.stages[random.below(program.stages.size())], random);
      if (list.empty() || &other == &stage.prefetch) break;
      NamedAction moved = list.back();
      for (ProgramStage& any : program.stages) {
        if (&other == &any.prefetch && moved.verb != Verb::ensure) return;
      }
      list.pop_back();
      other.push_back(moved);
      break;
    }
    case 7: {
      Value& value = values[random.below(values.size())];
      const auto spec = value.spec;
      value.spec = workload::make_bytes_spec(spec.name, any_size(random) * 2, spec.replica_mode);
      value.spec.recoverability = spec.recoverability;
      break;
    }
    case 8:
      if (!program.world.locations.empty()) {
        auto& entry = program.world.locations[random.below(program.world.locations.size())];
        entry.budget = *entry.budget / 2 + random.below(*entry.budget);
      }
      break;
    case 9:
      if (!stage.reserve.empty())
        stage.reserve[random.below(stage.reserve.size())].spec.bytes = any_size(random) * 3;
      break;
    case 10:
      stage.release.push_back({workload::Operand::From::value, random.below(values.size()), {}});
      break;
    default:
      if (!stage.produce.empty() && !stage.reserve.empty()) {
        workload::Produced& item = stage.produce[random.below(stage.produce.size())];
        item.from = random.below(stage.reserve.size());
      }
      break;
  }
}

/// A body that takes more than its reservation has is refused as a document is read (FHR0501).
void shrink_workspace(Program& program) {
  for (ProgramStage& stage : program.stages) {
    std::vector<Bytes> left;
    for (const auto& item : stage.reserve) left.push_back(round_up_to_granule(item.spec.bytes));
    for (const auto& item : stage.produce)
      left[item.from] -= std::min(left[item.from], program.world.values[item.value].spec.storage_bytes);
    for (workload::Carved& block : stage.workspace) {
      block.bytes = std::min(block.bytes, left[block.from]);
      left[block.from] -= round_up_to_granule(block.bytes);
    }
  }
}

}  // namespace

void damage(Program& program, Random& random) {
  change(program, random);
  shrink_workspace(program);
}

std::string describe(const Program& program) {
  std::string out;
  for (const auto& entry : program.world.locations)
    out += fmt::format("{} {}; ", entry.at.name(), *entry.budget);
  if (!program.world.peers.empty()) out += "peers; ";
  for (const Value& value : program.world.values) {
    out += fmt::format("\n  {}: {} B", value.name.text, value.spec.logical_bytes);
    for (const Location at : value.at) out += " " + at.name();
    if (value.spec.replica_mode == residency::ReplicaMode::exclusive) out += " exclusive";
    if (value.source) out += " source " + value.source->name();
    if (value.backing) out += " backing " + program.world.values[*value.backing].name.text;
  }
  for (const ProgramStage& stage : program.stages) {
    out += "\n " + stage.name.text + " reclaim ";
    for (const auto& action : stage.reclaim) out += text(action, program);
    for (const auto& item : stage.reserve)
      out += fmt::format("reserve {} {}; ", item.spec.at.name(), item.spec.bytes);
    out += "| enter ";
    for (const auto& action : stage.enter) out += text(action, program);
    out += "| prefetch ";
    for (const auto& action : stage.prefetch) out += text(action, program);
    for (const auto& block : stage.workspace)
      out += fmt::format("| carve {} from {} ", block.bytes, block.from);
    for (const auto& item : stage.produce)
      out += fmt::format("| produce {} {} from {} ", program.world.values[item.value].name.text,
                         item.at.name(), item.from);
    out += "| exit ";
    for (const auto& action : stage.exit) out += text(action, program);
    for (const auto& item : stage.release) out += "| release " + program.world.values[item.index].name.text;
  }
  return out;
}

}  // namespace fheres::verify::testing
