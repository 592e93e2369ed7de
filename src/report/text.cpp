#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fheres/report/table.hpp>
#include <fheres/report/text.hpp>

#include "report/where.hpp"

namespace fheres::report {
namespace {

using Align = Table::Align;

/// `move x pinned-host -> cuda:0`: the source is the resolved one where the action leaves it open.
std::string action_text(const residency::Action& action, std::optional<memory::Location> source,
                        const NameOf& names) {
  const std::string name = names(residency::value_of(action));
  const std::string verb = residency::verb_of(action);
  if (const auto* ensure = std::get_if<residency::Ensure>(&action)) {
    if (!source) return fmt::format("{} {} at {}", verb, name, ensure->at.name());
    return fmt::format("{} {} {} -> {}", verb, name, source->name(), ensure->at.name());
  }
  if (const auto* move = std::get_if<residency::Move>(&action)) {
    if (!source) return fmt::format("{} {} to {}", verb, name, move->to.name());
    return fmt::format("{} {} {} -> {}", verb, name, source->name(), move->to.name());
  }
  if (const auto* drop = std::get_if<residency::Drop>(&action)) {
    return fmt::format("{} {} at {}", verb, name, drop->at.name());
  }
  return fmt::format("{} {}", verb, name);
}

std::string eviction_reason(const workload::StageRehearsal& stage, const residency::Action& action) {
  if (!stage.decision) return "";
  for (const control::Eviction& eviction : stage.decision->evictions) {
    if (eviction.action == action) return eviction.reason();
  }
  return "";
}

void add_stage_rows(Table& table, const workload::StageRehearsal& stage, const NameOf& names) {
  std::string title = stage.name;
  const auto add = [&](std::string step, std::string bytes, std::string note) {
    table.add({std::exchange(title, ""), std::move(step), std::move(bytes), std::move(note)});
  };
  const auto add_reservations = [&] {
    for (const residency::ReservationExplanation& item : stage.explanation.reservations) {
      add(fmt::format("reserve {} at {}", item.spec.label, item.spec.at.name()),
          format_bytes(item.spec.bytes), item.reason);
    }
  };
  bool reserved = false;
  for (const residency::ActionExplanation& item : stage.explanation.actions) {
    if (item.phase != residency::Phase::reclaim && !std::exchange(reserved, true)) add_reservations();
    std::string note = item.reason;
    if (note.empty()) note = eviction_reason(stage, item.action);
    if (note.empty() && item.phase == residency::Phase::exit) note = "on exit";
    if (item.compacted != 0)
      note += fmt::format("{}after {} slid together", note.empty() ? "" : "; ", format_bytes(item.compacted));
    if (item.settles) note += note.empty() ? "once it has arrived" : ", once it has arrived";
    if (item.asynchronous) note += note.empty() ? "asynchronous" : ", asynchronous";
    if (item.expanded_from)
      note += fmt::format("{}expanded from {}", note.empty() ? "" : ", ", names(*item.expanded_from));
    if (item.staged_bytes != 0) note += note.empty() ? "staged at pinned-host" : ", staged at pinned-host";
    add(action_text(item.action, item.bytes != 0 ? item.source : std::nullopt, names),
        item.bytes != 0 ? format_bytes(item.bytes) : "", std::move(note));
  }
  if (!reserved) add_reservations();
  if (!title.empty()) add("nothing to do", "", "");
}

std::string budget_text(std::optional<Bytes> budget) { return budget ? format_bytes(*budget) : "none"; }

/// The location that is fullest, measured against its budget; the one with the largest charge where none has one.
const workload::Peak* tightest(const std::vector<workload::Peak>& peaks) {
  const workload::Peak* best = nullptr;
  const auto fullness = [](const workload::Peak& peak) {
    if (!peak.budget) return 0.0;
    return *peak.budget == 0 ? 1.0 : static_cast<double>(peak.charged) / static_cast<double>(*peak.budget);
  };
  for (const workload::Peak& peak : peaks) {
    if (best == nullptr || fullness(peak) > fullness(*best) ||
        (fullness(peak) == fullness(*best) && peak.charged > best->charged)) {
      best = &peak;
    }
  }
  return best;
}

std::string peak_text(const workload::Peak& peak) {
  const std::string where =
      peak.stage.empty() ? std::string("initial placement") : fmt::format("stage {}", peak.stage);
  if (!peak.budget)
    return fmt::format("peak {} at {} ({})", format_bytes(peak.charged), peak.at.name(), where);
  return fmt::format("peak {} at {} ({})", format_share(peak.charged, *peak.budget), peak.at.name(), where);
}

std::string protection_text(const residency::Protection& counts) {
  return counts.any() ? fmt::format("in use {}, held {}, pending {}", counts.use, counts.hold, counts.pending)
                      : "";
}

/// What holds the room where a plan was refused.
std::string holders_text(const residency::Explanation& explanation) {
  if (!explanation.refusal || explanation.refusal->rule != residency::Refusal::Rule::budget) return "";
  const residency::LocationExplanation* location = explanation.at(explanation.refusal->at);
  if (location == nullptr || location->holders.empty()) return "";
  Table table(
      {{"holds the room at " + location->at.name()}, {"bytes", Align::right}, {"as"}, {"protection"}});
  for (const residency::Holder& holder : location->holders) {
    table.add({holder.name, format_bytes(holder.charged), holder.value ? "value" : "reservation",
               protection_text(holder.protection)});
  }
  if (location->more_holders != 0) {
    table.add({fmt::format("{} more", location->more_holders), format_bytes(location->more_bytes),
               "smaller ones", ""});
  }
  return "\n" + table.render();
}

std::string infeasible_text(const control::Infeasible& infeasible) {
  std::string text;
  const auto add = [&](const std::string& title, const std::vector<control::Conflict>& list) {
    if (list.empty()) return;
    text += fmt::format("\n  {}\n", title);
    for (const control::Conflict& item : list) text += fmt::format("    {}\n", item.text());
  };
  add(infeasible.irreducible ? "cannot hold together (without any one of them, the others can):"
                             : "cannot hold together:",
      infeasible.conflict);
  add(fmt::format("holds the room at {}, and cannot move away:", infeasible.at.name()), infeasible.holders);
  return text;
}

std::string peaks_table(const std::vector<workload::Peak>& peaks) {
  Table table({{"location"}, {"budget", Align::right}, {"peak", Align::right}, {"in"}});
  for (const workload::Peak& peak : peaks) {
    table.add({peak.at.name(), budget_text(peak.budget), format_bytes(peak.charged),
               peak.stage.empty() ? "initial placement" : peak.stage});
  }
  return table.render();
}

}  // namespace

NameOf names_of(const workload::Rehearsal& rehearsal) {
  return [&rehearsal](residency::HandleId handle) {
    const auto records = rehearsal.state.records();
    return handle.manager == rehearsal.state.manager() && handle.serial < records.size()
               ? records[handle.serial].spec->name
               : fmt::format("value {}", handle.serial);
  };
}

NameOf names_of(const runtime::RunReport& report) {
  return [&report](residency::HandleId handle) {
    const auto& values = report.final_snapshot.values;  // in order of registration
    return handle.serial < values.size() && values[handle.serial].handle == handle
               ? values[handle.serial].spec->name
               : fmt::format("value {}", handle.serial);
  };
}

std::string verdict(const workload::Rehearsal& rehearsal) {
  if (rehearsal.answer != workload::Answer::feasible) {
    const char* answer = rehearsal.answer == workload::Answer::infeasible ? "infeasible" : "inconclusive";
    const std::string place = place_text(rehearsal.place);
    return fmt::format("{}: {}{}\n", answer, rehearsal.reason,
                       place.empty() ? "" : fmt::format(" [{}]", place));
  }
  const workload::Peak* peak = tightest(rehearsal.peaks);
  return fmt::format("feasible: {}, {} moved{}\n", peak != nullptr ? peak_text(*peak) : "nothing is charged",
                     format_bytes(rehearsal.moved_bytes),
                     rehearsal.compacted_bytes == 0
                         ? ""
                         : fmt::format(", {} compacted", format_bytes(rehearsal.compacted_bytes)));
}

std::string rehearsal_text(const workload::Rehearsal& rehearsal, bool brief) {
  std::string text;
  if (!brief && !rehearsal.stages.empty()) {
    Table table({{"stage"}, {"step"}, {"bytes", Align::right}, {"note"}});
    const NameOf names = names_of(rehearsal);
    for (const workload::StageRehearsal& stage : rehearsal.stages) add_stage_rows(table, stage, names);
    text += table.render() + "\n";
  }
  text += peaks_table(rehearsal.peaks);
  text += holders_text(rehearsal.stages.empty() ? rehearsal.placement : rehearsal.stages.back().explanation);
  if (!rehearsal.stages.empty()) {
    const workload::StageRehearsal& last = rehearsal.stages.back();
    if (last.infeasible) text += infeasible_text(*last.infeasible);
  }
  return text + "\n" + verdict(rehearsal);
}

std::string decisions_text(const workload::Rehearsal& rehearsal) {
  std::string text;
  const NameOf names = names_of(rehearsal);
  for (const workload::StageRehearsal& stage : rehearsal.stages) {
    text += fmt::format("{}\n", stage.name);
    if (!stage.decision) continue;
    const control::Decision& decision = *stage.decision;
    text += fmt::format("  policy {}; {} states explored\n", decision.policy, decision.explored_states);
    for (const control::Eviction& eviction : decision.evictions) {
      const std::vector<std::string> lines =
          wrap(fmt::format("evict {}: {}", eviction.rank + 1, eviction.reason()), kColumns - 6);
      text += fmt::format("  {}\n", fmt::join(lines, "\n      "));
    }
    if (decision.evictions.empty()) text += "  evicts nothing\n";
    for (const residency::ActionExplanation& item : stage.explanation.actions) {
      if (item.phase != residency::Phase::enter) continue;
      text += fmt::format("  {}{}\n",
                          action_text(item.action, item.bytes != 0 ? item.source : std::nullopt, names),
                          item.no_op        ? ": " + item.reason
                          : item.bytes != 0 ? ", " + format_bytes(item.bytes)
                                            : std::string());
    }
    for (const residency::LocationExplanation& location : stage.explanation.locations) {
      text += fmt::format("  predicted peak at {}: {} of {}\n", location.at.name(),
                          format_bytes(location.peak_charged), budget_text(location.budget));
    }
  }
  if (!rehearsal.stages.empty() && rehearsal.stages.back().infeasible) {
    text += infeasible_text(*rehearsal.stages.back().infeasible);
  }
  return text + "\n" + verdict(rehearsal);
}

}  // namespace fheres::report
