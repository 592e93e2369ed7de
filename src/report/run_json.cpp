#include <cmath>
#include <map>

#include <fmt/format.h>

#include <fheres/report/run_json.hpp>

namespace fheres::report {
namespace {

/// Two significant digits: errors of decrypted results are not to be published in full.
double two_digits(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  return std::stod(fmt::format("{:.1e}", value));
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
          {"decision", stage.decision ? to_json(*stage.decision, names) : Json(nullptr)},
          {"plan", to_json(stage.plan, names)},
          {"explanation", to_json(stage.explanation, names)},
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

Json checks_json(const runtime::RunReport& report) {
  Json checks = Json::array();
  for (const runtime::CheckRun& check : report.checks) {
    checks.push_back(
        {{"value", check.value},
         {"against", check.expected ? "expectation" : "shadow"},
         {"largest_error", check.skipped.empty() ? Json(two_digits(check.largest_error)) : Json(nullptr)},
         {"tolerance", check.tolerance},
         {"passed", check.skipped.empty() ? Json(check.passed) : Json(nullptr)},
         {"skipped", check.skipped.empty() ? Json(nullptr) : Json(check.skipped)},
         {"residues_sha256", check.residues_sha256}});
  }
  return checks;
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

/// Lives and charges over time: which samples there are hangs on when asynchronous copies end.
Json observed_json(const runtime::RunReport& report) {
  Json lives = Json::array();
  for (const runtime::Life& life : report.lives) {
    lives.push_back({{"value", life.value},
                     {"at", life.at.name()},
                     {"bytes", life.bytes},
                     {"start_ns", life.start_ns},
                     {"end_ns", life.end_ns}});
  }
  Json charges = Json::array();
  for (const runtime::ChargeSample& sample : report.charges) {
    charges.push_back({{"time_ns", sample.time_ns},
                       {"at", sample.at.name()},
                       {"used", sample.used},
                       {"reserved", sample.reserved},
                       {"budget", sample.budget ? Json(*sample.budget) : Json(nullptr)}});
  }
  return {{"lives", std::move(lives)}, {"charges", std::move(charges)}};
}

}  // namespace

Json run_json(const runtime::RunReport& report, const RunContext& context) {
  std::map<residency::HandleId, std::string> table;
  for (const auto& value : report.final_snapshot.values) table.emplace(value.handle, value.spec->name);
  const NameOf names = [&table](residency::HandleId handle) {
    const auto found = table.find(handle);
    return found == table.end() ? std::string() : found->second;
  };
  Json stages = Json::array();
  for (const runtime::StageRun& stage : report.stages) stages.push_back(stage_json(stage, names));
  Json placement = Json::array();
  for (const auto& transition : report.placement) placement.push_back(to_json(transition, names));
  return {
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
      {"placement", std::move(placement)},
      {"stages", std::move(stages)},
      {"checks", checks_json(report)},
      {"totals",
       {{"moved_bytes", report.moved_bytes()},
        {"traffic", traffic_json(report)},
        {"largest_error", two_digits(report.largest_error())}}},
      {"final", to_json(report.final_snapshot)},
      {"warnings", report.warnings},
      {"observed", observed_json(report)},
      {"timing", {{"start_ns", report.start_ns}, {"end_ns", report.end_ns}}}};
}

}  // namespace fheres::report
