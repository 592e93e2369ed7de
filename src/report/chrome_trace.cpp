#include <map>

#include <fmt/format.h>

#include <fheres/report/chrome_trace.hpp>

namespace fheres::report {
namespace {

constexpr int kProcess = 1;
constexpr int kHostTrack = 1;

double micros(std::int64_t time_ns) { return static_cast<double>(time_ns) / 1000.0; }

double mebibytes(Bytes bytes) { return static_cast<double>(bytes) / static_cast<double>(kMiB); }

class Writer {
 public:
  explicit Writer(const Timeline& timeline) : timeline_(timeline) {}

  Json write() {
    events_.push_back({{"ph", "M"},
                       {"pid", kProcess},
                       {"tid", 0},
                       {"name", "process_name"},
                       {"args", {{"name", "fheres"}}}});
    name_tracks();
    for (const Timeline::Stage& stage : timeline_.stages) {
      slice(kHostTrack, stage.name, "stage", stage.start_ns, stage.end_ns,
            {{"moved_bytes", stage.moved_bytes}, {"complete", stage.complete}});
    }
    for (const Timeline::Transition& transition : timeline_.transitions) add_transition(transition);
    for (const Timeline::Operation& operation : timeline_.operations) {
      slice(tracks_.at(operation.track), fmt::format("{} = {}", operation.result, operation.operation),
            "operation", operation.start_ns, operation.end_ns,
            {{"at", operation.at}, {"reads", operation.reads}, {"stage", operation.stage}});
    }
    for (const Timeline::Stall& stall : timeline_.stalls) {
      slice(tracks_.at(stall.track), fmt::format("wait for {}", stall.value), "stall", stall.start_ns,
            stall.end_ns, {{"value", stall.value}, {"for", stall.result}, {"stage", stall.stage}});
    }
    add_arrows();
    add_lives();
    add_counters();
    return {{"traceEvents", std::move(events_)},
            {"displayTimeUnit", "ms"},
            {"otherData",
             {{"document", timeline_.document},
              {"device", timeline_.device},
              {"parameters", timeline_.parameters},
              {"outcome", timeline_.outcome}}}};
  }

 private:
  /// Numbers and orders the tracks as the timeline has them: 1 is the host.
  void name_tracks() {
    for (const std::string& name : timeline_.tracks) {
      const int track = kHostTrack + static_cast<int>(tracks_.size());
      tracks_.emplace(name, track);
      for (const auto& [kind, args] : {std::pair<const char*, Json>{"thread_name", {{"name", name}}},
                                       {"thread_sort_index", {{"sort_index", track}}}}) {
        events_.push_back({{"ph", "M"}, {"pid", kProcess}, {"tid", track}, {"name", kind}, {"args", args}});
      }
    }
  }

  Json event(const char* phase, int track, const std::string& name, std::int64_t time_ns) const {
    return {{"ph", phase}, {"pid", kProcess}, {"tid", track}, {"name", name}, {"ts", micros(time_ns)}};
  }

  void slice(int track, const std::string& name, const char* category, std::int64_t start, std::int64_t end,
             Json args) {
    Json json = event("X", track, name, start);
    json["dur"] = micros(end - start);
    json["cat"] = category;
    json["args"] = std::move(args);
    events_.push_back(std::move(json));
  }

  void span(const char* category, const std::string& name, std::int64_t start, std::int64_t end,
            const Json& args) {
    for (const char* phase : {"b", "e"}) {
      Json json = event(phase, kHostTrack, name, *phase == 'b' ? start : end);
      json["cat"] = category;
      json["id2"] = {{"local", fmt::format("{:#x}", next_span_)}};  // of this process, not of the whole trace
      if (*phase == 'b') json["args"] = args;
      events_.push_back(std::move(json));
    }
    ++next_span_;
  }

  void add_transition(const Timeline::Transition& item) {
    const std::string name = fmt::format("{} {}", item.verb, item.value);
    Json args = {{"value", item.value}, {"bytes", item.bytes}};
    if (!item.source.empty()) args["source"] = item.source;
    if (!item.destination.empty()) args["destination"] = item.destination;
    if (!item.stage.empty()) args["stage"] = item.stage;
    if (item.asynchronous) {
      args["stall_us"] = micros(item.stall_ns);
      args["device_waits"] = item.device_waits;
      // Its slice is the queueing, so that slices of a track nest; its own time is a span.
      span("prefetch", name, item.start_ns, item.arrived_ns, {{"bytes", item.bytes}});
    }
    slice(tracks_.at(item.track), name, "transition", item.start_ns, item.end_ns, std::move(args));
  }

  void add_arrows() {
    int id = 1;
    for (const Timeline::Arrow& arrow : timeline_.arrows) {
      const Timeline::Transition& from = timeline_.transitions[arrow.transition];
      const Timeline::Operation& to = timeline_.operations[arrow.operation];
      Json start = event("s", tracks_.at(from.track), from.value, from.start_ns);
      start["cat"] = "arrival";
      start["id"] = id;
      events_.push_back(std::move(start));
      Json end = event("f", tracks_.at(to.track), from.value, to.start_ns);
      end["cat"] = "arrival";
      end["id"] = id++;
      end["bp"] = "e";
      events_.push_back(std::move(end));
    }
  }

  void add_lives() {
    for (const Timeline::Life& life : timeline_.lives) {
      span("residency", fmt::format("{} @ {}", life.value, life.at), life.start_ns, life.end_ns,
           {{"bytes", life.bytes}});
    }
  }

  void add_counters() {
    for (const Timeline::Charge& sample : timeline_.charges) {
      Json json = event("C", kHostTrack, fmt::format("{} MiB", sample.at), sample.time_ns);
      json["args"] = {{"used", mebibytes(sample.used)}, {"reserved", mebibytes(sample.reserved)}};
      if (sample.budget) json["args"]["budget"] = mebibytes(*sample.budget);
      events_.push_back(std::move(json));
    }
  }

  const Timeline& timeline_;
  std::map<std::string, int> tracks_;
  int next_span_ = 1;
  Json events_ = Json::array();
};

}  // namespace

Json chrome_trace(const Timeline& timeline) { return Writer(timeline).write(); }

std::string chrome_trace_text(const Timeline& timeline) {
  return chrome_trace(timeline).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace fheres::report
