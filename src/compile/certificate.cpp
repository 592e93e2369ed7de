#include "certificate.hpp"

#include <algorithm>
#include <numeric>

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

std::optional<Infeasible> exceeds(const Workload& workload, const std::string& stage, Location at,
                                  std::vector<Line> lines) {
  Line budget = budget_line(workload, at);
  Bytes sum = 0;
  for (const Line& line : lines) sum = checked_add(sum, line.bytes);
  if (sum <= budget.bytes) return std::nullopt;
  Infeasible found;
  found.stage = stage;
  found.at = at;
  found.budget = budget.bytes;
  found.short_by = sum - budget.bytes;
  found.reason = fmt::format("{}: {} has to be at {} at once, and the budget is {}",
                             stage.empty() ? std::string("initial placement") : "stage " + stage,
                             format_exact_bytes(sum), at.name(), format_exact_bytes(budget.bytes));
  found.lines = irreducible(std::move(lines), budget.bytes);
  found.lines.insert(found.lines.begin(), std::move(budget));
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
    if (auto found = exceeds(workload, "", room.at, std::move(lines))) return found;
  }
  // What cannot leave, by stage.
  std::vector<std::vector<std::int64_t>> free;
  for (const Room& room : problem.rooms) free.push_back(room.free);
  for (std::size_t r = 0; r < problem.rooms.size(); ++r) {
    std::vector<std::int64_t> stuck(problem.stages + 1, 0);
    for (const Interval& item : problem.intervals) {
      if (item.room != r || !item.forced) continue;
      stuck[item.first] += static_cast<std::int64_t>(item.charge);
      stuck[item.last + 1] -= static_cast<std::int64_t>(item.charge);
    }
    std::int64_t sum = 0;
    for (std::size_t s = 0; s < problem.stages; ++s) free[r][s] -= sum += stuck[s];
  }
  for (std::size_t s = 0; s < problem.stages; ++s) {
    for (std::size_t r = 0; r < problem.rooms.size(); ++r) {
      if (free[r][s] >= 0 || left_out(r, s)) continue;
      const Location at = problem.rooms[r].at;
      const workload::Stage& stage = workload.stages[s];
      std::vector<Line> lines;
      for (const workload::Reservation& item : stage.reserve)
        if (item.spec.at == at)
          lines.push_back(
              {Line::Kind::reservation, item.spec.label, round_up_to_granule(item.spec.bytes), item.place});
      for (const workload::Requirement& item : stage.require)
        if (item.at == at)
          lines.push_back({Line::Kind::requirement, values[item.value].name.text,
                           values[item.value].spec.storage_bytes, item.place});
      for (const Interval& item : problem.intervals) {
        if (item.room != r || !item.forced || item.first > s || item.last < s) continue;
        const Value& value = values[problem.lanes[item.lane].value];
        lines.push_back({Line::Kind::only_copy, value.name.text, value.spec.storage_bytes, value.name.place});
      }
      if (auto found = exceeds(workload, stage.name.text, at, std::move(lines))) return found;
    }
  }
  return std::nullopt;
}

}  // namespace fheres::compile
