#include "certificate.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>

namespace fheres::compile {
namespace {

using workload::Value;

Line budget_line(const Workload& workload, Location at) {
  Line line{Line::Kind::budget, at.name(), 0, {}};
  for (const workload::LocationEntry& entry : workload.world.locations) {
    if (entry.at != at) continue;
    line.place = entry.place;
    line.bytes = entry.budget.value_or(0);
  }
  return line;
}

/// Leaves out what need not be there, the smallest first, as long as the rest still exceeds the budget.
std::vector<Line> irreducible(std::vector<Line> lines, Bytes budget) {
  Bytes sum = 0;
  for (const Line& line : lines) sum = checked_add(sum, line.bytes);
  std::vector<std::size_t> order(lines.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lines[a].bytes < lines[b].bytes; });
  std::vector<char> out(lines.size(), 0);
  for (const std::size_t i : order) {
    if (sum - lines[i].bytes <= budget) continue;
    sum -= lines[i].bytes;
    out[i] = 1;
  }
  std::vector<Line> rest;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (!out[i]) rest.push_back(std::move(lines[i]));
  return rest;
}

/// `at`: one location, or several whose room counts together, the first of which is short.
std::optional<Infeasible> exceeds(const Workload& workload, const std::string& stage,
                                  const std::vector<Location>& at, std::vector<Line> lines) {
  Infeasible found;
  std::string names;
  std::vector<Line> budgets;
  for (const Location one : at) {
    budgets.push_back(budget_line(workload, one));
    found.budget = checked_add(found.budget, budgets.back().bytes);
    names += (names.empty() ? "" : " and ") + one.name();
  }
  Bytes sum = 0;
  for (const Line& line : lines) sum = checked_add(sum, line.bytes);
  if (sum <= found.budget) return std::nullopt;
  found.stage = stage;
  found.at = at.front();
  found.short_by = sum - found.budget;
  found.reason = fmt::format("{}: {} has to be at {} at once, and the {} {}",
                             stage.empty() ? std::string("initial placement") : "stage " + stage,
                             format_exact_bytes(sum), names, at.size() == 1 ? "budget is" : "budgets are",
                             format_exact_bytes(found.budget));
  found.lines = irreducible(std::move(lines), found.budget);
  found.lines.insert(found.lines.begin(), budgets.begin(), budgets.end());
  return found;
}

void add_needs(const workload::Stage& stage, const std::vector<Value>& values, Location at,
               std::vector<Line>& lines) {
  for (const workload::Reservation& item : stage.reserve)
    if (item.spec.at == at)
      lines.push_back(
          {Line::Kind::reservation, item.spec.label, round_up_to_granule(item.spec.bytes), item.place});
  for (const workload::Requirement& item : stage.require)
    if (item.at == at)
      lines.push_back({Line::Kind::requirement, values[item.value].name.text,
                       values[item.value].spec.storage_bytes, item.place});
}

/// A location and everywhere that an only copy may go from there, tier by tier.
std::vector<Location> reach(const Problem& problem, Location from) {
  std::vector<Location> reached{from};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const auto tiers = problem.tiers.find(reached[i]);
    if (tiers == problem.tiers.end()) continue;
    for (const Location to : tiers->second)
      if (std::find(reached.begin(), reached.end(), to) == reached.end()) reached.push_back(to);
  }
  return reached;
}

/// The only copies that are at some of these locations and never elsewhere, in stages [first, end).
struct Stuck {
  ValueIndex value = 0;
  std::size_t first = 0, end = 0;
};
std::vector<Stuck> never_elsewhere(const Workload& workload, const std::vector<Location>& locations) {
  const std::vector<Value>& values = workload.world.values;
  const auto inside = [&](Location at) {
    return std::find(locations.begin(), locations.end(), at) != locations.end();
  };
  std::vector<char> elsewhere(values.size(), 0);
  std::vector<Stuck> found(values.size());
  for (ValueIndex v = 0; v < values.size(); ++v) {
    const Value& value = values[v];
    found[v] = {v, 0, workload.stages.size()};
    if (value.source || value.backing || !std::all_of(value.at.begin(), value.at.end(), inside))
      elsewhere[v] = 1;
    if (value.backing) elsewhere[*value.backing] = 1;  // copied to wherever it is expanded
  }
  for (std::size_t s = 0; s < workload.stages.size(); ++s) {
    const workload::Stage& stage = workload.stages[s];
    for (const workload::Requirement& item : stage.require)
      if (!inside(item.at)) elsewhere[item.value] = 1;
    for (const workload::Output& output : stage.outputs) {
      found[output.value].first = s + 1;
      if (!inside(*stage.at)) elsewhere[output.value] = 1;
    }
    for (const workload::Operand& item : stage.release) found[item.index].end = s + 1;
  }
  std::erase_if(found, [&](const Stuck& item) { return elsewhere[item.value] || item.first >= item.end; });
  return found;
}

}  // namespace

std::string Line::text() const {
  switch (kind) {
    case Kind::budget:
      return fmt::format("{}: budget {}", name, format_exact_bytes(bytes));
    case Kind::requirement:
      return fmt::format("{}: {}, required", name, format_exact_bytes(bytes));
    case Kind::reservation:
      return fmt::format("{}: {}, reserved", name, format_exact_bytes(bytes));
    case Kind::only_copy:
      return fmt::format("{}: {}, the only copy, and the policy has no tier for it", name,
                         format_exact_bytes(bytes));
    case Kind::placement:
      return fmt::format("{}: {}, starts there", name, format_exact_bytes(bytes));
    case Kind::confined:
      return fmt::format("{}: {}, the only copy, and its tiers are short too", name,
                         format_exact_bytes(bytes));
  }
  return {};
}

std::optional<Infeasible> find_certificate(const Workload& workload, const Problem& problem,
                                           std::optional<CertificateAt> only) {
  const std::vector<Value>& values = workload.world.values;
  const auto left_out = [&](std::size_t room, std::optional<std::size_t> stage) {
    return only && (only->room != room || only->stage != stage);
  };
  for (const Room& room : problem.rooms) {
    if (left_out(static_cast<std::size_t>(&room - problem.rooms.data()), std::nullopt)) continue;
    std::vector<Line> lines;
    for (const Value& value : values)
      for (const Location at : value.at)
        if (at == room.at)
          lines.push_back(
              {Line::Kind::placement, value.name.text, value.spec.storage_bytes, value.name.place});
    if (auto found = exceeds(workload, "", {room.at}, std::move(lines))) return found;
  }
  // What cannot leave, by stage.
  std::vector<std::vector<std::int64_t>> free;
  for (const Room& room : problem.rooms) free.push_back(room.free);
  for (std::size_t r = 0; r < problem.rooms.size(); ++r) {
    const std::vector<std::int64_t> stuck = forced_charges(problem, r);
    for (std::size_t s = 0; s < problem.stages; ++s) free[r][s] -= stuck[s];
  }
  for (std::size_t s = 0; s < problem.stages; ++s) {
    for (std::size_t r = 0; r < problem.rooms.size(); ++r) {
      if (free[r][s] >= 0 || left_out(r, s)) continue;
      const Location at = problem.rooms[r].at;
      const workload::Stage& stage = workload.stages[s];
      std::vector<Line> lines;
      add_needs(stage, values, at, lines);
      for (const Interval& item : problem.intervals) {
        if (item.room != r || !item.forced || item.first > s || item.last < s) continue;
        const Value& value = values[problem.lanes[item.lane].value];
        lines.push_back({Line::Kind::only_copy, value.name.text, value.spec.storage_bytes, value.name.place});
      }
      if (auto found = exceeds(workload, stage.name.text, {at}, std::move(lines))) return found;
    }
  }
  return std::nullopt;
}

std::optional<Infeasible> find_joint_certificate(const Workload& workload, const Problem& problem) {
  const std::vector<Value>& values = workload.world.values;
  for (const Room& room : problem.rooms) {
    const std::vector<Location> locations = reach(problem, room.at);
    const bool budgeted = std::all_of(locations.begin(), locations.end(),
                                      [&](Location at) { return problem.room_at(at).has_value(); });
    if (locations.size() == 1 || !budgeted) continue;
    const std::vector<Stuck> stuck = never_elsewhere(workload, locations);
    std::vector<char> counts(values.size(), 0);
    std::vector<std::int64_t> change(problem.stages + 1, 0);
    for (const Stuck& item : stuck) {
      counts[item.value] = 1;
      const auto bytes = static_cast<std::int64_t>(values[item.value].spec.storage_bytes);
      change[item.first] += bytes;
      change[item.end] -= bytes;
    }
    std::int64_t waiting = 0;
    for (std::size_t s = 0; s < problem.stages; ++s) {
      waiting += change[s];
      std::int64_t free = -waiting;
      for (const Location at : locations) free += problem.rooms[*problem.room_at(at)].free[s];
      // What the stage requires was taken from what is free there already.
      std::set<ValueIndex> required;
      for (const workload::Requirement& item : workload.stages[s].require)
        if (counts[item.value] && required.insert(item.value).second)
          free += static_cast<std::int64_t>(values[item.value].spec.storage_bytes);
      if (free >= 0) continue;
      std::vector<Line> lines;
      for (const Location at : locations) add_needs(workload.stages[s], values, at, lines);
      for (const Stuck& item : stuck) {
        const Value& value = values[item.value];
        if (item.first > s || item.end <= s || required.count(item.value) != 0) continue;
        lines.push_back({Line::Kind::confined, value.name.text, value.spec.storage_bytes, value.name.place});
      }
      if (auto found = exceeds(workload, workload.stages[s].name.text, locations, std::move(lines)))
        return found;
    }
  }
  return std::nullopt;
}

}  // namespace fheres::compile
