#include "verify/against_workload.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include <fheres/base/bytes.hpp>

namespace fheres::verify {
namespace {

using workload::Location;
using workload::Place;
using workload::ProgramStage;
using workload::Stage;
using workload::Value;
using workload::ValueIndex;

std::string places(const std::vector<Location>& at) {
  std::string list;
  for (const Location where : at) list += (list.empty() ? "" : ", ") + where.name();
  return list.empty() ? "nowhere" : list;
}

std::string source_of(const Value& value, const workload::World& world) {
  if (value.backing) return "expanded from " + world.values[*value.backing].name.text;
  return value.source ? "made again at " + value.source->name() : "not made again";
}

const char* mode_of(const Value& value) {
  return value.spec.replica_mode == residency::ReplicaMode::exclusive ? "exclusive" : "replicable";
}

class Comparer {
 public:
  Comparer(const workload::Program& program, const workload::Workload& workload)
      : program_(program), workload_(workload) {
    for (ValueIndex i = 0; i < program.world.values.size(); ++i)
      values_.emplace(program.world.values[i].name.text, i);
    for (const Value& value : workload.world.values) originals_.emplace(value.name.text, &value);
    for (std::size_t i = 0; i < program.stages.size(); ++i) stages_.emplace(program.stages[i].name.text, i);
    result_.required.resize(program.stages.size());
  }

  Comparison run() {
    compare_values();
    std::optional<std::size_t> last;
    for (const Stage& stage : workload_.stages) {
      const auto found = stages_.find(stage.name.text);
      if (found == stages_.end()) {
        report("", program_.metadata.name.place,
               fmt::format("the workload has a stage {}, and the plan has none", stage.name.text));
        continue;
      }
      const ProgramStage& planned = program_.stages[found->second];
      if (last && found->second < *last) {
        report(planned.name.text, planned.name.place,
               fmt::format("it stands before stage {}, and in the workload behind it",
                           program_.stages[*last].name.text));
      }
      last = std::max(last.value_or(0), found->second);
      compare_stage(stage, found->second);
      stages_.erase(found);
    }
    for (const auto& [name, index] : stages_)
      report(name, program_.stages[index].name.place, "the workload has no such stage");
    return std::move(result_);
  }

 private:
  void compare_values() {
    for (const Value& planned : program_.world.values) {
      const auto found = originals_.find(planned.name.text);
      if (found == originals_.end()) {
        report("", planned.name.place, fmt::format("the workload has no value {}", planned.name.text));
        continue;
      }
      const Value& original = *found->second;
      const auto differ = [&](const std::string& what, const std::string& here, const std::string& there) {
        if (here != there)
          report("", planned.name.place,
                 fmt::format("{} {} {} here and {} in the workload", planned.name.text, what, here, there));
      };
      differ("has", format_exact_bytes(planned.spec.logical_bytes),
             format_exact_bytes(original.spec.logical_bytes));
      if (planned.spec.logical_bytes == original.spec.logical_bytes)
        differ("is charged", format_exact_bytes(planned.spec.storage_bytes),
               format_exact_bytes(original.spec.storage_bytes));
      differ("starts at", places(planned.at), places(original.at));
      differ("is", mode_of(planned), mode_of(original));
      differ("is", source_of(planned, program_.world), source_of(original, workload_.world));
      differ("is", planned.produced_by ? "made by a stage" : "declared",
             original.produced_by ? "made by a stage" : "declared");
    }
    for (const Value& original : workload_.world.values) {
      if (!values_.contains(original.name.text))
        report("", program_.metadata.name.place,
               fmt::format("the workload has a value {}, and the plan has none", original.name.text));
    }
  }

  void compare_stage(const Stage& stage, std::size_t index) {
    const ProgramStage& planned = program_.stages[index];
    const auto differ = [&](const Place& place, const std::string& message) {
      report(planned.name.text, place.known() ? place : planned.name.place, message);
    };
    for (const workload::Requirement& item : stage.require) {
      if (const auto value = here(item.value))
        result_.required[index].push_back({*value, item.at, planned.name.place});
    }
    for (const workload::Reservation& wanted : stage.reserve) {
      Bytes most = 0;
      const bool found = std::any_of(planned.reserve.begin(), planned.reserve.end(), [&](const auto& there) {
        if (there.spec.at != wanted.spec.at || there.spec.label != wanted.spec.label) return false;
        most = std::max(most, there.spec.bytes);
        return there.spec.bytes >= wanted.spec.bytes;
      });
      if (found) continue;
      differ(planned.name.place,
             fmt::format("reservation {} at {} has {}, and the body needs {}", wanted.spec.label,
                         wanted.spec.at.name(), format_exact_bytes(most),
                         format_exact_bytes(wanted.spec.bytes)));
    }
    std::map<std::string, Place> made, released;
    for (const workload::Produced& item : planned.produce) {
      made.emplace(name_of(item.value), item.place);
      if (stage.at && item.at != *stage.at)
        differ(item.place, fmt::format("{} is made at {}, and the body runs at {}", name_of(item.value),
                                       item.at.name(), stage.at->name()));
    }
    for (const workload::Operand& item : planned.release) released.emplace(name_of(item.index), item.place);
    for (const workload::Output& output : stage.outputs) {
      const std::string& name = workload_.world.values[output.value].name.text;
      if (made.erase(name) == 0)
        differ(planned.name.place, fmt::format("the body makes {}, and the plan does not say so", name));
    }
    for (const auto& [name, place] : made)
      differ(place, fmt::format("{} is produced, and the body does not make it", name));
    for (const workload::Operand& item : stage.release) {
      const std::string& name = workload_.world.values[item.index].name.text;
      if (released.erase(name) == 0)
        differ(planned.name.place, fmt::format("the workload releases {} here, and the plan does not", name));
    }
    for (const auto& [name, place] : released)
      differ(place, fmt::format("{} is released, and the workload does not release it here", name));
  }

  /// The Program's value of the same name.
  std::optional<ValueIndex> here(ValueIndex original) const {
    const auto found = values_.find(workload_.world.values[original].name.text);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  std::string name_of(ValueIndex value) const {
    return value < program_.world.values.size() ? program_.world.values[value].name.text
                                                : fmt::format("value {}", value);
  }

  void report(const std::string& stage, const Place& place, std::string message) {
    result_.violations.push_back({0, stage, Phase::workload, 0, place, std::move(message)});
  }

  const workload::Program& program_;
  const workload::Workload& workload_;
  std::map<std::string, ValueIndex> values_;
  std::map<std::string, const Value*> originals_;
  std::map<std::string, std::size_t> stages_;
  Comparison result_;
};

}  // namespace

Comparison compare(const workload::Program& program, const workload::Workload& workload) {
  return Comparer(program, workload).run();
}

}  // namespace fheres::verify
