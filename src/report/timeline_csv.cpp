#include <array>

#include <fmt/format.h>

#include <fheres/report/timeline.hpp>

namespace fheres::report {
namespace {

std::string quoted(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string text = "\"";
  for (const char c : cell) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

struct Row {
  std::string kind{}, stage{}, track{}, name{}, value{}, source{}, destination{};
  std::string bytes{}, start{}, end{}, stall{}, used{}, reserved{}, budget{};

  void append_to(std::string& text) const {
    const std::array<const std::string*, 14> cells = {&kind,   &stage,       &track,    &name,  &value,
                                                      &source, &destination, &bytes,    &start, &end,
                                                      &stall,  &used,        &reserved, &budget};
    for (std::size_t i = 0; i < cells.size(); ++i) text += (i == 0 ? "" : ",") + quoted(*cells[i]);
    text += '\n';
  }
};

}  // namespace

std::string timeline_csv(const Timeline& timeline) {
  const auto number = [](auto value) { return fmt::format("{}", value); };
  std::string text =
      "kind,stage,track,name,value,source,destination,bytes,start_ns,end_ns,stall_ns,used,reserved,budget\n";
  for (const Timeline::Stage& item : timeline.stages) {
    Row row{.kind = "stage", .stage = item.name, .track = "host", .name = item.name};
    row.bytes = number(item.moved_bytes);
    row.start = number(item.start_ns);
    row.end = number(item.end_ns);
    row.append_to(text);
  }
  for (const Timeline::Transition& item : timeline.transitions) {
    Row row{.kind = "transition", .stage = item.stage, .track = item.track, .name = item.verb};
    row.value = item.value;
    row.source = item.source;
    row.destination = item.destination;
    row.bytes = number(item.bytes);
    row.start = number(item.start_ns);
    row.end = number(item.arrived_ns);
    row.stall = number(item.stall_ns);
    row.append_to(text);
  }
  for (const Timeline::Operation& item : timeline.operations) {
    Row row{.kind = "operation", .stage = item.stage, .track = item.track, .name = item.operation};
    row.value = item.result;
    row.destination = item.at;
    row.start = number(item.start_ns);
    row.end = number(item.end_ns);
    row.append_to(text);
  }
  for (const Timeline::Stall& item : timeline.stalls) {
    Row row{.kind = "stall", .stage = item.stage, .track = item.track, .name = item.result};
    row.value = item.value;
    row.destination = item.at;
    row.start = number(item.start_ns);
    row.end = number(item.end_ns);
    row.append_to(text);
  }
  for (const Timeline::Life& item : timeline.lives) {
    Row row{.kind = "life", .value = item.value, .destination = item.at};
    row.bytes = number(item.bytes);
    row.start = number(item.start_ns);
    row.end = number(item.end_ns);
    row.append_to(text);
  }
  for (const Timeline::Charge& item : timeline.charges) {
    Row row{.kind = "charge", .destination = item.at};
    row.start = number(item.time_ns);
    row.used = number(item.used);
    row.reserved = number(item.reserved);
    if (item.budget) row.budget = number(*item.budget);
    row.append_to(text);
  }
  return text;
}

}  // namespace fheres::report
