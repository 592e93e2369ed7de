#include <algorithm>
#include <map>
#include <set>
#include <span>

#include <fmt/format.h>

#include <fheres/memory/location.hpp>
#include <fheres/report/timeline.hpp>

#include "reading.hpp"
#include "report/where.hpp"

namespace fheres::report {
namespace {

constexpr const char* kHost = "host";

/// Host first, then each device's copies before its operations.
struct TrackOrder {
  static std::pair<int, std::string> key(const std::string& track) {
    const auto at = memory::Location::from_name(track.substr(0, track.find(' ')));
    return {at && at->is_cuda() ? at->device() : -1, track};
  }
  bool operator()(const std::string& a, const std::string& b) const { return key(a) < key(b); }
};

class Reader {
 public:
  explicit Reader(const Json& report, std::span<const LongAnswer::List> lists = {})
      : report_(report), lists_(lists) {}

  Timeline read() {
    if (const std::string schema = report_["schema"].text(); schema != "fheres/run/v1")
      throw ReportError(fmt::format("/schema: expected fheres/run/v1, found {}", schema));
    start_ns_ = report_["timing"]["start_ns"].time();
    out_.length_ns = since_start(report_["timing"]["end_ns"].time());
    out_.document = report_["document"]["name"].text();
    out_.device = report_["device"]["name"].text();
    out_.parameters = report_["parameters"]["name"].text();
    out_.moved_bytes = report_["totals"]["moved_bytes"].count();
    read_outcome();
    each("/placement", report_["placement"], [this](const Reading& item) { read_transition(item, ""); });
    each("/stages", report_["stages"], [this](const Reading& item) { read_stage(item); });
    read_observed();
    name_tracks();
    draw_arrows();
    return std::move(out_);
  }

 private:
  /// A list of the report, also one that is made item by item.
  template <class Function>
  void each(const std::string& place, const Reading& there, const Function& function) const {
    const auto list = std::find_if(lists_.begin(), lists_.end(),
                                   [&](const LongAnswer::List& item) { return item.place == place; });
    if (list == lists_.end()) return there.each(function);
    for (std::size_t i = 0; i < list->count; ++i) {
      const Json item = list->item(i);
      function(Reading(item, fmt::format("{}/{}", place, i)));
    }
  }

  std::int64_t since_start(std::int64_t time_ns) const {
    return std::max<std::int64_t>(0, time_ns - start_ns_);
  }

  void read_outcome() {
    out_.outcome = report_["outcome"]["status"].text();
    const Reading failure = report_["outcome"]["failure"];
    if (failure.is_null()) return;
    const std::string stage = failure["stage"].text();
    out_.failure = fmt::format("{}{}: {}", stage.empty() ? "" : fmt::format("stage {}, ", stage),
                               failure["phase"].text(), failure["message"].text());
  }

  void read_transition(const Reading& json, const std::string& stage) {
    if (json["work"].text() == "nothing") return;
    Timeline::Transition item;
    item.stage = stage;
    item.verb = json["action"].first_key();
    item.value = json["action"][item.verb.c_str()].text();
    item.source = json["source"].location_or_empty();
    item.destination = json["destination"].location_or_empty();
    item.bytes = json["bytes"].count();
    item.asynchronous = json["asynchronous"].flag();
    const Reading timing = json["timing"];
    item.start_ns = since_start(timing["start_ns"].time());
    item.arrived_ns = since_start(timing["end_ns"].time());
    // An asynchronous copy holds the host only until it is queued.
    item.end_ns = item.asynchronous ? since_start(timing["queued_ns"].time()) : item.arrived_ns;
    item.stall_ns = timing["stall_ns"].time();
    item.device_waits = timing["device_waits"].count();
    item.track = kHost;
    for (const std::string& end : {item.source, item.destination}) {
      if (item.bytes != 0 && is_device(end)) item.track = end + " copies";
    }
    out_.transitions.push_back(std::move(item));
  }

  void read_stage(const Reading& json) {
    const std::string stage = json["name"].text();
    json["executed"]["transitions"].each([&](const Reading& item) { read_transition(item, stage); });
    json["operations"].each([&](const Reading& item) { read_operation(item, stage); });
    if (json["timing"].has("stalls"))
      json["timing"]["stalls"].each([&](const Reading& item) { read_stall(item, stage); });
    out_.stages.push_back({stage, since_start(json["timing"]["start_ns"].time()),
                           since_start(json["timing"]["end_ns"].time()),
                           json["explanation"]["moved_bytes"].count(), json["complete"].flag()});
  }

  void read_operation(const Reading& json, const std::string& stage) {
    const Reading timing = json["timing"];
    if (timing["end_ns"].time() == 0) {
      ++out_.untimed_operations;
      return;
    }
    Timeline::Operation item;
    item.stage = stage;
    item.result = json["result"].text();
    item.operation = json["operation"].text();
    item.at = json["at"].location();
    item.track = item.at + " operations";
    json["reads"].each([&](const Reading& name) { item.reads.push_back(name.text()); });
    item.start_ns = since_start(timing["start_ns"].time());
    item.end_ns = since_start(timing["end_ns"].time());
    out_.operations.push_back(std::move(item));
  }

  void read_stall(const Reading& json, const std::string& stage) {
    if (json["end_ns"].time() == 0) return;  // never ended, or not timed
    const std::string at = json["at"].location();
    out_.stalls.push_back({stage, at + " operations", json["value"].text(), json["result"].text(), at,
                           since_start(json["start_ns"].time()), since_start(json["end_ns"].time())});
  }

  void read_observed() {
    const Reading observed = report_["observed"];
    each("/observed/lives", observed["lives"], [this](const Reading& json) {
      out_.lives.push_back({json["value"].text(), json["at"].location(), json["bytes"].count(),
                            since_start(json["start_ns"].time()), since_start(json["end_ns"].time())});
    });
    each("/observed/charges", observed["charges"], [this](const Reading& json) {
      Timeline::Charge item{json["at"].location(), since_start(json["time_ns"].time()), json["used"].count(),
                            json["reserved"].count(), std::nullopt};
      if (const Reading budget = json["budget"]; !budget.is_null()) item.budget = budget.count();
      out_.charges.push_back(std::move(item));
    });
  }

  void name_tracks() {
    std::map<std::string, bool, TrackOrder> tracks{{kHost, true}};
    for (const Timeline::Transition& item : out_.transitions) tracks.emplace(item.track, true);
    for (const Timeline::Operation& item : out_.operations) tracks.emplace(item.track, true);
    for (const Timeline::Stall& item : out_.stalls) tracks.emplace(item.track, true);
    for (const auto& entry : tracks) out_.tracks.push_back(entry.first);
  }

  void draw_arrows() {
    std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> arrivals;
    for (std::size_t i = 0; i < out_.transitions.size(); ++i) {
      const Timeline::Transition& item = out_.transitions[i];
      if (!item.destination.empty() && item.bytes != 0) arrivals[{item.value, item.destination}].push_back(i);
    }
    for (std::size_t k = 0; k < out_.operations.size(); ++k) {
      const Timeline::Operation& operation = out_.operations[k];
      for (const std::string& value : std::set(operation.reads.begin(), operation.reads.end())) {
        const auto found = arrivals.find({value, operation.at});
        if (found == arrivals.end()) continue;
        // The last copy before it: a value may leave and come again, also in the same stage's exit.
        const auto before = std::partition_point(
            found->second.begin(), found->second.end(),
            [&](std::size_t i) { return out_.transitions[i].end_ns <= operation.start_ns; });
        if (before != found->second.begin()) out_.arrows.push_back({*std::prev(before), k});
      }
    }
  }

  Reading report_;
  std::span<const LongAnswer::List> lists_;
  std::int64_t start_ns_ = 0;
  Timeline out_;
};

}  // namespace

Timeline read_timeline(const Json& report) { return Reader(report).read(); }

Timeline read_timeline(const LongAnswer& report) { return Reader(report.head, report.lists).read(); }

std::vector<ValueCost> costs_of(const Timeline& timeline) {
  std::map<std::string, ValueCost> sums;
  const auto cost = [&](const std::string& value) -> ValueCost& {
    ValueCost& sum = sums[value];
    sum.value = value;
    return sum;
  };
  for (const Timeline::Transition& item : timeline.transitions) {
    if (item.stage.empty() || item.bytes == 0) continue;
    ValueCost& sum = cost(item.value);
    sum.moved_bytes += item.bytes;
    ++sum.transfers;
    sum.copying_ns += item.arrived_ns - item.start_ns;
    sum.stall_ns += item.stall_ns;
  }
  for (const Timeline::Stall& item : timeline.stalls)
    cost(item.value).stall_ns += item.end_ns - item.start_ns;
  std::map<std::string, double> held;
  for (const Timeline::Life& life : timeline.lives) {
    ValueCost& sum = cost(life.value);
    sum.charged_bytes = std::max(sum.charged_bytes, life.bytes);
    if (!is_device(life.at)) continue;
    sum.on_devices_ns += life.end_ns - life.start_ns;
    held[life.value] += static_cast<double>(life.bytes) * static_cast<double>(life.end_ns - life.start_ns);
  }
  std::vector<ValueCost> costs;
  for (auto& entry : sums) costs.push_back(std::move(entry.second));
  std::stable_sort(costs.begin(), costs.end(), [&](const ValueCost& a, const ValueCost& b) {
    if (a.moved_bytes != b.moved_bytes) return a.moved_bytes > b.moved_bytes;
    return held[a.value] > held[b.value];
  });
  return costs;
}

}  // namespace fheres::report
