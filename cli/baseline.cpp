#include "baseline.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "json_file.hpp"

namespace fheres::cli {
namespace {

constexpr const char* kWorse = "FHR0903";

std::nullopt_t refuse(const std::string& why) {
  fmt::print(stderr, "fheres: --baseline: {}\n", why);
  return std::nullopt;
}

}  // namespace

std::optional<Baseline> Baseline::read(const std::string& file, const std::string& document) {
  Baseline baseline;
  if (file.empty()) return baseline;
  const auto json = read_json(file);
  if (const auto* why = std::get_if<std::string>(&json)) return refuse(fmt::format("{}: {}", file, *why));
  std::optional<report::Measures> measures = report::measures_of(std::get<report::Json>(json));
  if (!measures) return refuse(fmt::format("{} is no answer or report that fheres wrote as JSON", file));
  if (measures->document != document) {
    return refuse(
        fmt::format("{} is of the document `{}`, this one is `{}`", file, measures->document, document));
  }
  baseline.file_ = file;
  baseline.measures_ = std::move(*measures);
  return baseline;
}

ExitCode Baseline::judge(ExitCode code, report::Json& json) {
  if (file_.empty()) return code;
  if (const auto now = report::measures_of(json); now && now->feasible)
    worse_ = report::worse(*now, measures_);
  json["baseline"] = {{"file", file_}, {"worse", worse_}};
  return code == ExitCode::done && !worse_.empty() ? ExitCode::regression : code;
}

void Baseline::add_case(std::vector<report::Case>& cases, const workload::Place& document) const {
  if (file_.empty()) return;
  report::Case& item = cases.emplace_back();
  item.name = "baseline";
  if (worse_.empty()) return;
  item.result = report::Case::Result::failed;
  item.findings = {{kWorse, document, line(), ""}};
}

void Baseline::say() const {
  if (!worse_.empty()) fmt::print(stderr, "{}\n", line());
}

std::string Baseline::line() const {
  return fmt::format("worse than {}: {}", file_, fmt::join(worse_, "; "));
}

void add_baseline(Command& command, std::string& file) {
  names_file(command.add_option(
      "--baseline", file,
      "an earlier --json answer or report; exit 6 where bytes moved, a peak, the predicted time or a "
      "plan's gap grew"));
}

}  // namespace fheres::cli
