#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include <fheres/report/baseline.hpp>
#include <fheres/report/table.hpp>

namespace fheres::report {
namespace {

/// The member at a path of keys, or null.
const Json* find(const Json& json, std::initializer_list<const char*> path) {
  const Json* at = &json;
  for (const char* key : path) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(key);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}

std::optional<Bytes> bytes_at(const Json& json, std::initializer_list<const char*> path) {
  const Json* found = find(json, path);
  return found != nullptr && found->is_number_unsigned() ? std::optional(found->get<Bytes>()) : std::nullopt;
}

std::string text_at(const Json& json, std::initializer_list<const char*> path) {
  const Json* found = find(json, path);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

/// Peaks stand at the top of an explanation, in each stage of a run, and in a plan's evidence.
void add_peaks(const Json& json, Measures& measures) {
  const Json* peaks = find(json, {"peaks"});
  if (peaks == nullptr || !peaks->is_array()) return;
  for (const Json& peak : *peaks) {
    const std::string at = text_at(peak, {"at"});
    for (const char* key : {"charged", "predicted_charged", "bytes"}) {
      const auto charged = bytes_at(peak, {key});
      if (!at.empty() && charged) measures.peaks[at] = std::max(measures.peaks[at], *charged);
    }
  }
}

/// `was` and `now` by so much that no rounding hides it.
std::string growth(const std::string& what, Bytes now, Bytes was) {
  const bool hidden = format_bytes(now) == format_bytes(was);
  const auto text = [&](Bytes bytes) { return hidden ? fmt::format("{} B", bytes) : format_bytes(bytes); };
  return fmt::format("{} {}, was {} (+{})", what, text(now), text(was), format_bytes(now - was));
}

}  // namespace

std::optional<Measures> measures_of(const Json& json) {
  if (!text_at(json, {"schema"}).starts_with("fheres/")) return std::nullopt;
  Measures measures;
  measures.document = text_at(json, {"document", "name"});
  const std::string answer = text_at(json, {"answer"});
  measures.feasible = answer.empty() || answer == "feasible";
  measures.moved_bytes = bytes_at(json, {"moved_bytes"});
  for (const char* inside : {"totals", "evidence"}) {
    if (!measures.moved_bytes) measures.moved_bytes = bytes_at(json, {inside, "moved_bytes"});
  }
  add_peaks(json, measures);
  if (const Json* evidence = find(json, {"evidence"})) add_peaks(*evidence, measures);
  if (const Json* stages = find(json, {"stages"}); stages != nullptr && stages->is_array()) {
    for (const Json& stage : *stages) add_peaks(stage, measures);
  }
  const Json* time = find(json, {"evidence", "time", "predicted_ns"});
  if (time == nullptr) time = find(json, {"plan", "predicted", "makespan_ns"});
  if (time != nullptr && time->is_number()) measures.predicted_ns = time->get<double>();
  if (const Json* gap = find(json, {"evidence", "gap"}); gap != nullptr && gap->is_number())
    measures.gap = gap->get<double>();
  if (!measures.moved_bytes && measures.peaks.empty()) return std::nullopt;
  return measures;
}

std::vector<std::string> worse(const Measures& now, const Measures& baseline) {
  std::vector<std::string> lines;
  if (!baseline.feasible) return lines;
  if (now.moved_bytes && baseline.moved_bytes && *now.moved_bytes > *baseline.moved_bytes)
    lines.push_back(growth("moved", *now.moved_bytes, *baseline.moved_bytes));
  for (const auto& [at, charged] : now.peaks) {
    const auto was = baseline.peaks.find(at);
    if (was != baseline.peaks.end() && charged > was->second)
      lines.push_back(growth("peak at " + at, charged, was->second));
  }
  const bool less = now.moved_bytes && baseline.moved_bytes && *now.moved_bytes < *baseline.moved_bytes;
  if (now.gap && baseline.gap && *now.gap > *baseline.gap && !less)
    lines.push_back(
        fmt::format("gap to the lower bound {:.2f}%, was {:.2f}%", *now.gap * 100, *baseline.gap * 100));
  if (now.predicted_ns && baseline.predicted_ns && *now.predicted_ns > *baseline.predicted_ns) {
    lines.push_back(fmt::format("predicted time {}, was {} (+{})", format_duration(*now.predicted_ns),
                                format_duration(*baseline.predicted_ns),
                                format_duration(*now.predicted_ns - *baseline.predicted_ns)));
  }
  return lines;
}

}  // namespace fheres::report
