#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include <fheres/report/run_json.hpp>
#include <fheres/report/text.hpp>

namespace fheres::report {
namespace {

/// Two significant digits: errors of decrypted results are not to be published in full.
double two_digits(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  return std::stod(fmt::format("{:.1e}", value));
}

bool is_as_predicted(const residency::ActionExplanation& told, const residency::ActionReport& done) {
  const residency::TransitionReport& t = done.transition;
  return told.executable && told.phase == done.phase && told.index == done.index && told.action == t.action &&
         told.no_op == t.no_op() && told.asynchronous == t.asynchronous && told.source == t.source &&
         told.destination == t.destination && told.bytes == t.bytes && told.compacted == t.compacted &&
         told.expanded_from == t.expanded_from && told.temporary_bytes == t.temporary_bytes;
}

/// Whether what was executed says all that was predicted of it.
bool is_as_predicted(const runtime::StageRun& stage) {
  const auto& [told, done] = std::tie(stage.explanation, stage.report);
  return stage.complete && told.feasible &&
         std::equal(told.actions.begin(), told.actions.end(), done.actions.begin(), done.actions.end(),
                    [](const auto& a, const auto& b) { return is_as_predicted(a, b); }) &&
         std::equal(told.reservations.begin(), told.reservations.end(), done.reservations.begin(),
                    done.reservations.end(),
                    [](const auto& a, const auto& spec) { return a.executable && a.spec == spec; });
}

Json stage_json(const runtime::StageRun& stage, const NameOf& names) {
  Json operations = Json::array();
  for (const runtime::OperationRun& operation : stage.operations) {
    operations.push_back({{"result", operation.result},
                          {"operation", operation.operation},
                          {"at", operation.at.name()},
                          {"reads", operation.reads},
                          {"timing", {{"start_ns", operation.start_ns}, {"end_ns", operation.end_ns}}}});
  }
  Json stalls = Json::array();
  for (const runtime::StallRun& stall : stage.stalls) {
    stalls.push_back({{"value", stall.value},
                      {"result", stall.result},
                      {"at", stall.at.name()},
                      {"start_ns", stall.start_ns},
                      {"end_ns", stall.end_ns}});
  }
  Json outputs = Json::array();
  for (const runtime::OutputRun& output : stage.outputs) {
    outputs.push_back({{"name", output.name}, {"at", output.at.name()}, {"bytes", output.bytes}});
  }
  Json peaks = Json::array();
  for (const residency::LocationExplanation& predicted : stage.explanation.locations) {
    Json peak = {{"at", predicted.at.name()},
                 {"predicted_charged", predicted.peak_charged},
                 {"predicted_compacted", predicted.compacted}};
    for (const residency::LocationPeak& measured : stage.report.peaks) {
      if (measured.at != predicted.at) continue;
      peak["measured_charged"] = measured.charged;
      peak["measured_allocated"] = measured.allocated;
      peak["measured_compacted"] = measured.compacted;
    }
    peaks.push_back(std::move(peak));
  }
  return {{"name", stage.name},
          {"complete", stage.complete},
          {"decision", stage.decision ? choice_json(*stage.decision, names) : Json(nullptr)},
          {"plan", to_json(stage.plan, names)},
          {"explanation",
           is_as_predicted(stage) ? prediction_json(stage.explanation) : to_json(stage.explanation, names)},
          {"executed", to_json(stage.report, names)},
          {"peaks", std::move(peaks)},
          {"operations", std::move(operations)},
          {"outputs", std::move(outputs)},
          {"released", stage.released},
          {"timing",
           {{"start_ns", stage.start_ns},
            {"end_ns", stage.end_ns},
            {"check_ns", stage.check_ns},
            {"stalls", std::move(stalls)}}}};
}

Json check_json(const runtime::CheckRun& check) {
  return {{"value", check.value},
          {"against", check.expected ? "expectation" : "shadow"},
          {"largest_error", check.skipped.empty() ? Json(two_digits(check.largest_error)) : Json(nullptr)},
          {"tolerance", check.tolerance},
          {"passed", check.skipped.empty() ? Json(check.passed) : Json(nullptr)},
          {"skipped", check.skipped.empty() ? Json(nullptr) : Json(check.skipped)},
          {"residues_sha256", check.residues_sha256}};
}

Json peaks_json(const runtime::RunReport& report) {
  Json peaks = Json::array();
  for (const RunPeak& peak : peaks_of(report)) {
    peaks.push_back({{"at", peak.at.name()},
                     {"budget", peak.budget ? Json(*peak.budget) : Json(nullptr)},
                     {"predicted_charged", peak.predicted},
                     {"measured_charged", peak.measured},
                     {"measured_allocated", peak.allocated},
                     {"stage", peak.stage}});
  }
  return peaks;
}

Json traffic_json(const runtime::RunReport& report) {
  Json traffic = Json::array();
  for (const runtime::Traffic& item : report.traffic) {
    traffic.push_back({{"from", item.from.name()},
                       {"to", item.to.name()},
                       {"bytes", item.bytes},
                       {"transfers", item.transfers}});
  }
  return traffic;
}

/// What failed, and how much was committed before it.
Json failure_json(const runtime::RunReport& report, const NameOf& names) {
  if (!report.failure) return nullptr;
  const runtime::RunFailure& failure = *report.failure;
  std::size_t stages = 0, transitions = 0;
  for (const runtime::StageRun& stage : report.stages) {
    stages += stage.complete ? 1 : 0;
    if (!stage.complete) transitions = stage.report.actions.size();
  }
  return {{"code", failure.code},
          {"message", failure.message},
          {"stage", failure.stage},
          {"phase", failure.phase},
          {"action", failure.action ? to_json(*failure.action, names) : Json(nullptr)},
          {"index", failure.index ? Json(*failure.index) : Json(nullptr)},
          {"committed", {{"stages", stages}, {"transitions", transitions}}}};
}

Json life_json(const runtime::Life& life) {
  return {{"value", life.value},
          {"at", life.at.name()},
          {"bytes", life.bytes},
          {"start_ns", life.start_ns},
          {"end_ns", life.end_ns}};
}

/// Which samples there are hangs on when asynchronous copies end.
Json charge_json(const runtime::ChargeSample& sample) {
  return {{"time_ns", sample.time_ns},
          {"at", sample.at.name()},
          {"used", sample.used},
          {"reserved", sample.reserved},
          {"budget", sample.budget ? Json(*sample.budget) : Json(nullptr)}};
}

template <class Item, class Function>
LongAnswer::List list_of(const char* place, const std::vector<Item>& items, const Function& json) {
  return {place, items.size(), [&items, json](std::size_t i) { return json(items[i]); }};
}

}  // namespace

std::vector<RunPeak> peaks_of(const runtime::RunReport& report) {
  std::map<memory::Location, RunPeak> peaks;
  for (const runtime::StageRun& stage : report.stages) {
    for (const residency::LocationExplanation& predicted : stage.explanation.locations) {
      RunPeak& peak = peaks.try_emplace(predicted.at, RunPeak{predicted.at}).first->second;
      peak.budget = predicted.budget;
      if (peak.stage.empty() || predicted.peak_charged > peak.predicted) peak.stage = stage.name;
      peak.predicted = std::max(peak.predicted, predicted.peak_charged);
    }
    for (const residency::LocationPeak& measured : stage.report.peaks) {
      RunPeak& peak = peaks.try_emplace(measured.at, RunPeak{measured.at}).first->second;
      peak.measured = std::max(peak.measured, measured.charged);
      peak.allocated = std::max(peak.allocated, measured.allocated);
    }
  }
  std::vector<RunPeak> list;
  for (auto& entry : peaks) list.push_back(std::move(entry.second));
  return list;
}

LongAnswer run_json(const runtime::RunReport& report, const RunContext& context) {
  const NameOf names = names_of(report);
  LongAnswer answer;
  answer.lists = {list_of("/placement", report.placement,
                          [names](const residency::TransitionReport& item) { return to_json(item, names); }),
                  list_of("/stages", report.stages,
                          [names](const runtime::StageRun& item) { return stage_json(item, names); }),
                  list_of("/checks", report.checks, check_json),
                  list_of("/final/values", report.final_snapshot.values,
                          [&report](const residency::ValueSnapshot& item) {
                            return to_json(item, report.final_snapshot);
                          }),
                  list_of("/observed/lives", report.lives, life_json),
                  list_of("/observed/charges", report.charges, charge_json)};
  if (context.plan && context.plan->forecast)
    answer.lists.push_back(
        list_of("/plan/predicted/stages", context.plan->forecast->stages, forecast_stage_json));
  answer.head = {
      {"schema", "fheres/run/v1"},
      {"tool", {{"name", "fheres"}, {"version", context.tool_version}}},
      {"document", {{"file", context.document}, {"sha256", context.document_sha256}, {"name", context.name}}},
      {"plan", context.plan ? plan_json(report, *context.plan) : Json(nullptr)},
      {"outcome", {{"status", runtime::name(report.status)}, {"failure", failure_json(report, names)}}},
      {"device", {{"driver", report.driver}, {"name", report.device}}},
      {"parameters",
       {{"name", report.parameters},
        {"id", report.parameters_id},
        {"security", report.insecure ? "none" : "checked"}}},
      {"seed", report.seed ? Json(*report.seed) : Json(nullptr)},
      {"context_bytes", report.context_bytes},
      {"client",
       {{"bytes_made", report.client.bytes_made},
        {"timing",
         {{"key_generation_ns", report.client.key_generation_ns},
          {"encryption_ns", report.client.encryption_ns},
          {"decryption_ns", report.client.decryption_ns}}}}},
      {"peaks", peaks_json(report)},
      {"placement", Json::array()},
      {"stages", Json::array()},
      {"checks", Json::array()},
      {"totals",
       {{"moved_bytes", report.moved_bytes()},
        {"traffic", traffic_json(report)},
        {"largest_error", two_digits(report.largest_error())}}},
      {"final", to_json(report.final_snapshot)},
      {"warnings", report.warnings},
      {"observed", {{"lives", Json::array()}, {"charges", Json::array()}}},
      {"timing", {{"start_ns", report.start_ns}, {"end_ns", report.end_ns}}}};
  return answer;
}

}  // namespace fheres::report
