#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include <fheres/memory/location.hpp>
#include <fheres/report/table.hpp>
#include <fheres/report/timeline.hpp>

#include "report/markup.hpp"
#include "report/where.hpp"
#include "timeline_template.hpp"

namespace fheres::report {
namespace {

std::string duration(std::int64_t ns) { return format_duration(static_cast<double>(ns)); }

/// Inside a script element only `</script` and `<!--` end it or change its reading: without `<` there is neither.
std::string script_data(const Json& json) {
  std::string out;
  for (const char c : json.dump(-1, ' ', true, Json::error_handler_t::replace)) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

Json slice(const std::string& track, const char* kind, const std::string& name, std::int64_t start,
           std::int64_t end, std::vector<std::string> text) {
  text.insert(text.begin(), name);
  text.push_back(fmt::format("{} from {}", duration(end - start), duration(start)));
  return {{"track", track}, {"kind", kind}, {"name", name}, {"start", start}, {"end", end}, {"text", text}};
}

Json stages_json(const Timeline& timeline) {
  Json list = Json::array();
  for (const Timeline::Stage& item : timeline.stages) {
    list.push_back(slice("host", "stage", item.name, item.start_ns, item.end_ns,
                         {fmt::format("{} to move{}", format_bytes(item.moved_bytes),
                                      item.complete ? "" : "; the stage did not complete")}));
  }
  return list;
}

Json transitions_json(const Timeline& timeline) {
  Json list = Json::array();
  for (const Timeline::Transition& item : timeline.transitions) {
    const bool copies = item.bytes != 0;
    const char* kind = !copies                       ? "other"
                       : is_device(item.destination) ? "in"
                       : is_device(item.source)      ? "out"
                                                     : "other";
    std::string what;
    if (!item.source.empty() && !item.destination.empty()) {
      what = fmt::format("{} to {}", item.source, item.destination);
    } else {
      what = "at " + (item.source.empty() ? item.destination : item.source);
    }
    if (copies) {
      const double seconds = static_cast<double>(item.arrived_ns - item.start_ns) / 1e9;
      what += ", " + format_bytes(item.bytes);
      if (seconds > 0)
        what += fmt::format(" at {:.3g} GB/s", static_cast<double>(item.bytes) / 1e9 / seconds);
    }
    std::vector<std::string> text = {std::move(what)};
    if (item.asynchronous) {
      text.push_back(fmt::format("asynchronous: known to be there after {}; the host waited {} for it",
                                 duration(item.arrived_ns - item.start_ns), duration(item.stall_ns)));
    }
    Json json = slice(item.track, kind, fmt::format("{} {}", item.verb, item.value), item.start_ns,
                      item.end_ns, std::move(text));
    if (item.asynchronous) json["arrived"] = item.arrived_ns;
    list.push_back(std::move(json));
  }
  return list;
}

Json operations_json(const Timeline& timeline) {
  Json list = Json::array();
  for (const Timeline::Operation& item : timeline.operations) {
    list.push_back(slice(item.track, "operation", fmt::format("{} = {}", item.result, item.operation),
                         item.start_ns, item.end_ns,
                         {item.reads.empty() ? "reads results of its stage"
                                             : fmt::format("reads {}", fmt::join(item.reads, ", "))}));
  }
  return list;
}

Json stalls_json(const Timeline& timeline) {
  Json list = Json::array();
  for (const Timeline::Stall& item : timeline.stalls) {
    list.push_back(slice(item.track, "stall", fmt::format("wait for {}", item.value), item.start_ns,
                         item.end_ns, {fmt::format("{} wants it, and it is still arriving", item.result)}));
  }
  return list;
}

/// Devices first: theirs are the budgets that bind.
Json locations_json(const Timeline& timeline) {
  std::map<std::string, std::vector<const Timeline::Charge*>> places;
  for (const Timeline::Charge& item : timeline.charges) places[item.at].push_back(&item);
  std::vector<std::string> order;
  for (const auto& entry : places) order.push_back(entry.first);
  std::stable_sort(order.begin(), order.end(), [](const std::string& a, const std::string& b) {
    return *memory::Location::from_name(b) < *memory::Location::from_name(a);
  });
  Json list = Json::array();
  for (const std::string& at : order) {
    Json samples = Json::array();
    Bytes peak = 0;
    for (const Timeline::Charge* item : places[at]) {
      samples.push_back({item->time_ns, item->used, item->reserved});
      peak = std::max(peak, item->used + item->reserved);
    }
    const auto& budget = places[at].back()->budget;
    list.push_back({{"at", at},
                    {"budget", budget ? Json(*budget) : Json(nullptr)},
                    {"peak", peak},
                    {"samples", std::move(samples)}});
  }
  return list;
}

Json lives_json(const Timeline& timeline) {
  Json list = Json::array();
  for (const Timeline::Life& item : timeline.lives) {
    list.push_back({{"value", item.value},
                    {"at", item.at},
                    {"bytes", item.bytes},
                    {"start", item.start_ns},
                    {"end", item.end_ns}});
  }
  return list;
}

std::string costs_table(const Timeline& timeline) {
  constexpr std::size_t kShown = 40;
  const std::vector<ValueCost> costs = costs_of(timeline);
  // A phone has no room for an empty column.
  const bool waited =
      std::any_of(costs.begin(), costs.end(), [](const ValueCost& item) { return item.stall_ns != 0; });
  std::string html = fmt::format(
      "<table><thead><tr><th>value</th><th>moved</th><th>copies</th><th>copying</th>{}"
      "<th>size</th><th>on devices</th></tr></thead><tbody>\n",
      waited ? "<th>waited</th>" : "");
  for (std::size_t i = 0; i < std::min(costs.size(), kShown); ++i) {
    const ValueCost& item = costs[i];
    html += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td>{}<td>{}</td><td>{}</td></tr>\n",
        escaped(item.value), item.moved_bytes == 0 ? "" : format_bytes(item.moved_bytes),
        item.transfers == 0 ? "" : fmt::format("{}", item.transfers),
        item.transfers == 0 ? "" : duration(item.copying_ns),
        waited ? fmt::format("<td>{}</td>", item.stall_ns == 0 ? "" : duration(item.stall_ns)) : "",
        format_bytes(item.charged_bytes), item.on_devices_ns == 0 ? "" : duration(item.on_devices_ns));
  }
  html += "</tbody></table>";
  if (costs.size() > kShown) html += fmt::format("<p class=\"faint\">and {} more</p>", costs.size() - kShown);
  return html;
}

std::string verdict_html(const Timeline& timeline) {
  if (timeline.outcome == "done") {
    return fmt::format("done in {}, {} moved by {}", duration(timeline.length_ns),
                       format_bytes(timeline.moved_bytes), format_count(timeline.stages.size(), "stage"));
  }
  return fmt::format("<span class=\"wrong\">{}{}{}</span>", escaped(timeline.outcome),
                     timeline.failure.empty() ? "" : ": ", escaped(timeline.failure));
}

std::string facts_html(const Timeline& timeline) {
  std::string facts = fmt::format("{}, {}", timeline.device, timeline.parameters);
  if (timeline.untimed_operations != 0)
    facts += fmt::format("; {} without times: `run --trace` takes them",
                         format_count(timeline.untimed_operations, "operation"));
  return escaped(facts);
}

}  // namespace

std::string timeline_page(const Timeline& timeline) {
  Json arrows = Json::array();
  for (const Timeline::Arrow& item : timeline.arrows) arrows.push_back({item.transition, item.operation});
  const Json run = {{"length_ns", timeline.length_ns},
                    {"tracks", timeline.tracks},
                    {"stages", stages_json(timeline)},
                    {"transitions", transitions_json(timeline)},
                    {"operations", operations_json(timeline)},
                    {"stalls", stalls_json(timeline)},
                    {"arrows", std::move(arrows)},
                    {"lives", lives_json(timeline)},
                    {"locations", locations_json(timeline)}};
  const std::map<std::string_view, std::string> parts = {{"title", escaped(timeline.document)},
                                                         {"verdict", verdict_html(timeline)},
                                                         {"facts", facts_html(timeline)},
                                                         {"costs", costs_table(timeline)},
                                                         {"run", script_data(run)}};
  std::string page;
  std::string_view rest = kTimelineTemplate;
  while (!rest.empty()) {
    const std::size_t mark = rest.find('%');
    page += rest.substr(0, mark);
    if (mark == std::string_view::npos) break;
    rest.remove_prefix(mark + 1);
    const std::size_t end = rest.find('%');
    const auto part = end == std::string_view::npos ? parts.end() : parts.find(rest.substr(0, end));
    if (part == parts.end()) {
      page += '%';
      continue;
    }
    page += part->second;
    rest.remove_prefix(end + 1);
  }
  return page;
}

}  // namespace fheres::report
