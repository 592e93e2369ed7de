#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <fheres/report/chrome_trace.hpp>

namespace fheres::report {
namespace {

using memory::Location;
using runtime::RunReport;

constexpr int kProcess = 1;
constexpr int kHostTrack = 1;

int copy_track(Location device) { return 10 + 2 * device.device(); }
int operation_track(Location device) { return 11 + 2 * device.device(); }

/// The device whose copy stream a transition used, if any.
std::optional<Location> copying_device(const residency::TransitionReport& transition) {
  for (const auto& end : {transition.destination, transition.source}) {
    if (end && end->is_cuda() && transition.bytes != 0) return end;
  }
  return std::nullopt;
}

double mebibytes(Bytes bytes) { return static_cast<double>(bytes) / static_cast<double>(kMiB); }

class Writer {
 public:
  explicit Writer(const RunReport& report) : report_(report), names_(names_of(report)) {}

  Json write() {
    events_.push_back({{"ph", "M"},
                       {"pid", kProcess},
                       {"tid", 0},
                       {"name", "process_name"},
                       {"args", {{"name", "fheres"}}}});
    name_track(kHostTrack, "host");
    for (const auto& transition : report_.placement) add_transition(transition);
    for (const runtime::StageRun& stage : report_.stages) add_stage(stage);
    add_lives();
    add_counters();
    return {{"traceEvents", std::move(events_)},
            {"displayTimeUnit", "ms"},
            {"otherData", {{"device", report_.device}, {"parameters", report_.parameters}}}};
  }

 private:
  static std::map<residency::HandleId, std::string> names_of(const RunReport& report) {
    std::map<residency::HandleId, std::string> names;
    for (const auto& value : report.final_snapshot.values) names.emplace(value.handle, value.spec->name);
    return names;
  }

  double micros(std::int64_t time_ns) const {
    return static_cast<double>(std::max<std::int64_t>(0, time_ns - report_.start_ns)) / 1000.0;
  }

  Json event(const char* phase, int track, const std::string& name, std::int64_t time_ns) const {
    return {{"ph", phase}, {"pid", kProcess}, {"tid", track}, {"name", name}, {"ts", micros(time_ns)}};
  }

  void name_track(int track, const std::string& name) {
    if (!named_.emplace(track, name).second) return;
    events_.push_back({{"ph", "M"},
                       {"pid", kProcess},
                       {"tid", track},
                       {"name", "thread_name"},
                       {"args", {{"name", name}}}});
  }

  void slice(int track, const std::string& name, const char* category, std::int64_t start, std::int64_t end,
             Json args) {
    Json json = event("X", track, name, start);
    json["dur"] = std::max(0.0, micros(end) - micros(start));
    json["cat"] = category;
    json["args"] = std::move(args);
    events_.push_back(std::move(json));
  }

  void add_transition(const residency::TransitionReport& transition) {
    if (transition.no_op()) return;
    const residency::HandleId value = residency::value_of(transition.action);
    const std::string name = fmt::format("{} {}", residency::verb_of(transition.action), names_[value]);
    Json args = {{"bytes", transition.bytes}};
    if (transition.source) args["source"] = transition.source->name();
    if (transition.destination) args["destination"] = transition.destination->name();
    const std::optional<Location> device = copying_device(transition);
    const int track = device ? copy_track(*device) : kHostTrack;
    if (device) name_track(track, fmt::format("{} copies", device->name()));
    // An asynchronous copy's slice is its queueing, so that slices of a track nest; its own time is a span.
    const std::int64_t end = transition.asynchronous ? transition.queued_ns : transition.end_ns;
    if (transition.asynchronous) {
      for (const char* phase : {"b", "e"}) {
        Json json = event(phase, track, name, *phase == 'b' ? transition.start_ns : transition.end_ns);
        json["cat"] = "prefetch";
        json["id2"] = {{"local", fmt::format("{:#x}", next_prefetch_)}};
        events_.push_back(std::move(json));
      }
      ++next_prefetch_;
    }
    slice(track, name, "transition", transition.start_ns, end, std::move(args));
    if (transition.destination) {
      arrivals_[{names_[value], *transition.destination}] = {track, transition.start_ns, end};
    }
  }

  void add_stage(const runtime::StageRun& stage) {
    slice(kHostTrack, stage.name, "stage", stage.start_ns, stage.end_ns,
          {{"moved_bytes", stage.explanation.moved_bytes()}, {"complete", stage.complete}});
    for (const residency::ActionReport& action : stage.report.actions) add_transition(action.transition);
    for (const runtime::OperationRun& operation : stage.operations) add_operation(operation);
  }

  void add_operation(const runtime::OperationRun& operation) {
    if (operation.end_ns == 0) return;  // never completed, or not timed
    const int track = operation_track(operation.at);
    name_track(track, fmt::format("{} operations", operation.at.name()));
    slice(track, fmt::format("{} = {}", operation.result, operation.operation), "operation",
          operation.start_ns, operation.end_ns, {{"reads", operation.reads}});
    for (const std::string& value : operation.reads) {
      const auto arrival = arrivals_.find({value, operation.at});
      if (arrival == arrivals_.end() || arrival->second.end_ns > operation.start_ns) continue;
      const int id = next_flow_++;
      for (const char* phase : {"s", "f"}) {
        const bool start = *phase == 's';
        Json json = event(phase, start ? arrival->second.track : track, value,
                          start ? arrival->second.start_ns : operation.start_ns);
        json["cat"] = "arrival";
        json["id"] = id;
        if (!start) json["bp"] = "e";
        events_.push_back(std::move(json));
      }
    }
  }

  void add_lives() {
    int id = 1;
    for (const runtime::Life& life : report_.lives) {
      for (const char* phase : {"b", "e"}) {
        Json json = event(phase, kHostTrack, fmt::format("{} @ {}", life.value, life.at.name()),
                          *phase == 'b' ? life.start_ns : life.end_ns);
        json["cat"] = "residency";
        json["id2"] = {{"local", fmt::format("{:#x}", id)}};  // of this process, not of the whole trace
        if (*phase == 'b') json["args"] = {{"bytes", life.bytes}};
        events_.push_back(std::move(json));
      }
      ++id;
    }
  }

  void add_counters() {
    for (const runtime::ChargeSample& sample : report_.charges) {
      Json json = event("C", kHostTrack, fmt::format("{} MiB", sample.at.name()), sample.time_ns);
      json["args"] = {{"used", mebibytes(sample.used)}, {"reserved", mebibytes(sample.reserved)}};
      if (sample.budget) json["args"]["budget"] = mebibytes(*sample.budget);
      events_.push_back(std::move(json));
    }
  }

  struct Arrival {
    int track;
    std::int64_t start_ns, end_ns;
  };

  const RunReport& report_;
  std::map<residency::HandleId, std::string> names_;
  std::map<int, std::string> named_;
  std::map<std::pair<std::string, Location>, Arrival> arrivals_;
  int next_flow_ = 1;
  int next_prefetch_ = 1;
  Json events_ = Json::array();
};

}  // namespace

Json chrome_trace(const runtime::RunReport& report) { return Writer(report).write(); }

}  // namespace fheres::report
