#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include <fheres/documents/machine_file.hpp>
#include <fheres/workload/check.hpp>

#include "sections.hpp"

namespace fheres::documents {
namespace {

using workload::Machine;
using workload::Tier;

/// A rate of four digits, as `calibrate` writes it, is off by this much: two sizes that took the same time still do.
constexpr double kRounding = 1e-3;
constexpr double kNsPerSecond = 1e9;
constexpr std::array<Tier, 3> kTiers{Tier::pageable_host, Tier::pinned_host, Tier::cuda};

struct Unit {
  std::string_view name;
  double factor;
};
constexpr std::array<Unit, 4> kTimes{{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
constexpr std::array<Unit, 4> kRates{{{"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}}};

/// `13.7 GB/s`, `4.6us`: a number above 0, or 0 where that has a meaning, and one of the units.
std::optional<double> read_quantity(Context& context, const Node& node, const char* what,
                                    std::span<const Unit> units, bool zero) {
  const auto text = read_text(context, node, what);
  if (!text) return std::nullopt;
  double number = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, number);
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const Unit& known : units) {
    if (error != std::errc{} || unit != known.name) continue;
    const double value = number * known.factor;
    if (std::isfinite(value) && (value > 0 || (zero && value == 0)) && value < 1e18) return value;
  }
  std::vector<std::string> names;
  for (const Unit& known : units) names.emplace_back(known.name);
  context.report("FHR0701", node.place,
                 fmt::format("{} is `{}`, expected a number {} and {}, such as `{}`", what, *text,
                             zero ? "of 0 or more" : "above 0", fmt::join(names, ", "),
                             units.front().name == "ns" ? "4.6 us" : "13.7 GB/s"));
  return std::nullopt;
}

std::optional<double> read_time(Context& context, const Node& node, const char* what) {
  return read_quantity(context, node, what, kTimes, true);
}

std::optional<double> read_rate(Context& context, const Node& node, const char* what) {
  return read_quantity(context, node, what, kRates, false);
}

std::optional<Tier> read_tier(Context& context, const Node& node, const char* what) {
  std::vector<std::string> names;
  for (const Tier tier : kTiers) names.emplace_back(workload::name(tier));
  const auto index = read_choice(context, node, what, names);
  return index ? std::optional(kTiers[*index]) : std::nullopt;
}

/// `{from: pinned-host, to: cuda, bandwidth: {64 KiB: 13.7 GB/s, 1 GiB: 55.4 GB/s}}`.
void read_copy(Context& context, const Node& node, Machine& machine) {
  MapReader map(context, node, "a direction of copies");
  if (!map.valid()) return;
  const Node* from = map.need("from");
  const Node* to = map.need("to");
  const Node* bandwidth = map.need("bandwidth");
  map.finish();
  if (!from || !to || !bandwidth) return;
  const auto source = read_tier(context, *from, "from");
  const auto destination = read_tier(context, *to, "to");
  workload::CopyTimes times;
  if (bandwidth->kind != Node::Kind::map || bandwidth->entries.empty()) {
    context.report("FHR0106", bandwidth->place,
                   fmt::format("bandwidth is {}, expected a map from sizes to rates", kind_of(*bandwidth)));
    return;
  }
  for (const Node::Entry& entry : bandwidth->entries) {
    const auto size = parse_bytes(clipped(entry.key));
    const auto rate = read_rate(context, *entry.value, "a bandwidth");
    if (const auto* bad = std::get_if<BadBytes>(&size)) {
      context.report("FHR0109", entry.place, bad->reason);
    } else if (std::get<Bytes>(size) == 0) {
      context.report("FHR0702", entry.place, "a copy of no bytes has no bandwidth");
    } else if (rate) {
      const Bytes bytes = std::get<Bytes>(size);
      times.points.push_back({bytes, static_cast<double>(bytes) * kNsPerSecond / *rate});
    }
  }
  std::sort(times.points.begin(), times.points.end(),
            [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  for (std::size_t i = 1; i < times.points.size(); ++i) {
    if (times.points[i].bytes == times.points[i - 1].bytes) {
      context.report("FHR0702", bandwidth->place,
                     fmt::format("{} is listed twice", format_bytes(times.points[i].bytes)));
    } else if (times.points[i].ns < times.points[i - 1].ns * (1 - kRounding)) {
      context.report(
          "FHR0702", bandwidth->place,
          fmt::format("a copy of {} is said to take less time than one of {}",
                      format_bytes(times.points[i].bytes), format_bytes(times.points[i - 1].bytes)));
    }
  }
  for (std::size_t i = 1; i < times.points.size(); ++i)
    times.points[i].ns = std::max(times.points[i].ns, times.points[i - 1].ns);
  if (!source || !destination || times.points.empty()) return;
  times.from = *source;
  times.to = *destination;
  if (machine.copy(*source, *destination) != nullptr) {
    context.report("FHR0702", node.place,
                   fmt::format("copies from {} to {} are listed twice", workload::name(*source),
                               workload::name(*destination)));
    return;
  }
  machine.copies.push_back(std::move(times));
}

/// `{parameters: PRESET, operation: rotate, levels: {0: 93 us, 7: 31 us}}`.
void read_operation(Context& context, const Node& node, Machine& machine) {
  MapReader map(context, node, "an operation");
  if (!map.valid()) return;
  workload::OperationTimes times;
  const auto before = context.diagnostics.size();
  if (const Node* name = map.need("parameters"))
    times.parameters = read_text(context, *name, "parameters").value_or("");
  if (const Node* name = map.need("operation"))
    times.operation = read_text(context, *name, "operation").value_or("");
  const Node* levels = map.need("levels");
  map.finish();
  if (!levels) return;
  if (levels->kind != Node::Kind::map || levels->entries.empty()) {
    context.report("FHR0106", levels->place,
                   fmt::format("levels is {}, expected a map from levels to times", kind_of(*levels)));
    return;
  }
  for (const Node::Entry& entry : levels->entries) {
    int level = 0;
    const char* const end = entry.key.data() + entry.key.size();
    const auto [rest, error] = std::from_chars(entry.key.data(), end, level);
    const auto time = read_time(context, *entry.value, "a time");
    if (error != std::errc{} || rest != end || level < 0 || level > 1000) {
      context.report("FHR0107", entry.place, fmt::format("a level is `{}`, expected 0 to 1000", entry.key));
    } else if (time) {
      times.points.push_back({level, *time});
    }
  }
  std::sort(times.points.begin(), times.points.end(),
            [](const auto& a, const auto& b) { return a.level < b.level; });
  if (context.diagnostics.size() != before || times.points.empty()) return;
  if (machine.operation(times.parameters, times.operation) != nullptr) {
    context.report("FHR0702", node.place,
                   fmt::format("`{}` of {} is listed twice", times.operation, times.parameters));
    return;
  }
  machine.operations.push_back(std::move(times));
}

std::string quantity(double value, std::span<const Unit> units) {
  const Unit* best = &units.front();
  for (const Unit& unit : units)
    if (value >= unit.factor) best = &unit;
  return fmt::format("{:.4g} {}", value / best->factor, best->name);
}

/// A size that reads back as itself.
std::string exact_size(Bytes bytes) {
  const std::string pretty = format_bytes(bytes);
  const auto back = parse_bytes(pretty);
  const auto* same = std::get_if<Bytes>(&back);
  return same != nullptr && *same == bytes ? pretty : std::to_string(bytes);
}

}  // namespace

void read_peers(Context& context, const Node& node, std::vector<std::pair<Location, Location>>& pairs) {
  for (const auto& item : read_list(context, node, "peers")) {
    std::vector<Location> ends;
    for (const auto& end : read_list(context, *item, "a pair of peers")) {
      if (const auto at = read_location(context, *end)) ends.push_back(*at);
    }
    if (item->kind != Node::Kind::sequence || ends.size() != item->items.size()) continue;  // reported
    if (ends.size() != 2 || !ends[0].is_cuda() || !ends[1].is_cuda() || ends[0] == ends[1]) {
      context.report("FHR0313", item->place,
                     "peers are two different cuda locations, such as [cuda:0, cuda:1]");
      continue;
    }
    const std::pair<Location, Location> pair = std::minmax(ends[0], ends[1]);
    if (std::find(pairs.begin(), pairs.end(), pair) != pairs.end()) {
      context.report("FHR0313", item->place,
                     fmt::format("{} and {} are listed twice", pair.first.name(), pair.second.name()));
    } else {
      pairs.push_back(pair);
    }
  }
}

Machine read_machine_fields(Context& context, MapReader& map) {
  Machine machine;
  if (const Node* device = map.get("device"))
    machine.device = read_text(context, *device, "device").value_or("");
  if (const Node* granularity = map.get("granularity")) {
    const auto bytes = read_bytes(context, *granularity);
    if (bytes && *bytes != kGranule)
      context.report(
          "FHR0702", granularity->place,
          fmt::format("granularity is {}, expected {} B: what regions are made of", *bytes, kGranule));
  }
  if (const Node* peers = map.get("peers")) read_peers(context, *peers, machine.peers);
  if (const Node* duplex = map.get("full_duplex"))
    machine.full_duplex = read_choice(context, *duplex, "full_duplex", {"true", "false"}) != 1u;
  if (const Node* list = map.get("copies"))
    for (const auto& item : read_list(context, *list, "copies")) read_copy(context, *item, machine);
  if (const Node* rate = map.get("expansion")) machine.expansion = read_rate(context, *rate, "expansion");
  if (const Node* rate = map.get("compaction")) machine.compaction = read_rate(context, *rate, "compaction");
  if (const Node* time = map.get("stage")) machine.stage_ns = read_time(context, *time, "stage").value_or(0);
  if (const Node* list = map.get("operations"))
    for (const auto& item : read_list(context, *list, "operations")) read_operation(context, *item, machine);
  return machine;
}

Machine read_machine_document(Context& context, MapReader& document) {
  const workload::Metadata metadata = read_header(context, document);
  Machine machine = read_machine_fields(context, document);
  machine.name = metadata.name.text;
  document.finish();
  return machine;
}

Loaded load_machine(const std::filesystem::path& path) {
  LoadOptions options;
  options.machines = true;
  Loaded loaded = load(path, options);
  if (!loaded.model) return loaded;
  loaded.diagnostics.push_back(
      {"FHR0102",
       std::visit([](const auto& model) { return model.metadata.name.place; }, *loaded.model),
       fmt::format("{} is a {}, expected a Machine", path.string(), kind_of(*loaded.model)),
       {}});
  loaded.model.reset();
  return loaded;
}

std::string machine_yaml(const Machine& machine, const std::string& description, const std::string& schema) {
  std::string text = fmt::format("# yaml-language-server: $schema={}\n", schema);
  text += fmt::format("apiVersion: fheres/v1\nkind: Machine\nmetadata:\n  name: {}\n", machine.name);
  if (!description.empty()) text += fmt::format("  description: \"{}\"\n", description);
  if (!machine.device.empty()) text += fmt::format("device: \"{}\"\n", machine.device);
  text += fmt::format("granularity: {}\n", machine.granularity);
  if (!machine.peers.empty()) {
    text += "peers:\n";
    for (const auto& [a, b] : machine.peers) text += fmt::format("  - [{}, {}]\n", a.name(), b.name());
  }
  text += fmt::format("full_duplex: {}\n", machine.full_duplex);
  if (machine.expansion) text += fmt::format("expansion: {}\n", quantity(*machine.expansion, kRates));
  if (machine.compaction) text += fmt::format("compaction: {}\n", quantity(*machine.compaction, kRates));
  if (machine.stage_ns > 0) text += fmt::format("stage: {}\n", quantity(machine.stage_ns, kTimes));
  if (!machine.copies.empty()) text += "copies:\n";
  for (const workload::CopyTimes& times : machine.copies) {
    text += fmt::format("  - from: {}\n    to: {}\n    bandwidth:\n", workload::name(times.from),
                        workload::name(times.to));
    for (const workload::CopyPoint& point : times.points)
      text += fmt::format("      {}: {}\n", exact_size(point.bytes),
                          quantity(static_cast<double>(point.bytes) * kNsPerSecond / point.ns, kRates));
  }
  if (!machine.operations.empty()) text += "operations:\n";
  for (const workload::OperationTimes& times : machine.operations) {
    std::vector<std::string> levels;
    for (const workload::LevelTime& point : times.points)
      levels.push_back(fmt::format("{}: {}", point.level, quantity(point.ns, kTimes)));
    text += fmt::format("  - {{parameters: {}, operation: {}, levels: {{{}}}}}\n", times.parameters,
                        times.operation, fmt::join(levels, ", "));
  }
  return text;
}

}  // namespace fheres::documents
