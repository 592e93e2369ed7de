#include <algorithm>

#include <fheres/base/check.hpp>
#include <fheres/memory/bandwidth.hpp>
#include <fheres/workload/machine.hpp>

namespace fheres::workload {
namespace {

constexpr double kNsPerSecond = 1e9;

Location representative(Tier tier) {
  if (tier == Tier::cuda) return Location::cuda(0);
  return tier == Tier::pinned_host ? Location::pinned_host() : Location::pageable_host();
}

}  // namespace

Tier tier_of(Location at) {
  if (at.is_cuda()) return Tier::cuda;
  return at == Location::pinned_host() ? Tier::pinned_host : Tier::pageable_host;
}

const char* name(Tier tier) {
  switch (tier) {
    case Tier::pageable_host:
      return "pageable-host";
    case Tier::pinned_host:
      return "pinned-host";
    case Tier::cuda:
      return "cuda";
  }
  return "";
}

double CopyTimes::ns(Bytes bytes) const {
  FHERES_CHECK(!points.empty());
  const CopyPoint& last = points.back();
  const auto size = static_cast<double>(bytes);
  if (points.size() == 1 || bytes >= last.bytes)
    return last.bytes == 0 ? last.ns : last.ns * size / static_cast<double>(last.bytes);
  std::size_t above = 1;
  while (points[above].bytes < bytes) ++above;
  const CopyPoint& a = points[above - 1];
  const CopyPoint& b = points[above];
  const double slope = (b.ns - a.ns) / static_cast<double>(b.bytes - a.bytes);
  return std::max(0.0, a.ns + slope * (size - static_cast<double>(a.bytes)));
}

double CopyTimes::bandwidth() const {
  const CopyPoint& last = points.back();
  return last.ns > 0 ? static_cast<double>(last.bytes) * kNsPerSecond / last.ns : 0;
}

double OperationTimes::ns(int level) const {
  FHERES_CHECK(!points.empty());
  if (level <= points.front().level) return points.front().ns;
  if (level >= points.back().level) return points.back().ns;
  std::size_t above = 1;
  while (points[above].level < level) ++above;
  const LevelTime& a = points[above - 1];
  const LevelTime& b = points[above];
  return a.ns + (b.ns - a.ns) * (level - a.level) / (b.level - a.level);
}

const CopyTimes* Machine::copy(Tier from, Tier to) const {
  for (const CopyTimes& times : copies)
    if (times.from == from && times.to == to) return &times;
  return nullptr;
}

bool Machine::are_peers(Location a, Location b) const {
  return std::any_of(peers.begin(), peers.end(),
                     [&](const auto& pair) { return pair == std::pair(a, b) || pair == std::pair(b, a); });
}

std::optional<double> Machine::copy_ns(Location from, Location to, Bytes bytes) const {
  if (from.is_cuda() && to.is_cuda() && from != to && !are_peers(from, to)) {
    const auto out = copy_ns(from, Location::pinned_host(), bytes);
    const auto in = copy_ns(Location::pinned_host(), to, bytes);
    return out && in ? std::optional(*out + *in) : std::nullopt;
  }
  const CopyTimes* times = copy(tier_of(from), tier_of(to));
  return times == nullptr ? std::nullopt : std::optional(times->ns(bytes));
}

std::optional<double> Machine::expand_ns(Bytes bytes) const {
  if (!expansion || *expansion <= 0) return std::nullopt;
  return static_cast<double>(bytes) * kNsPerSecond / *expansion;
}

double Machine::slide_ns(Location at, Bytes bytes) const {
  if (bytes == 0) return 0;
  if (at.is_cuda() && compaction && *compaction > 0)
    return static_cast<double>(bytes) * kNsPerSecond / *compaction;
  const Location from = at.is_cuda() ? Location::pinned_host() : Location::pageable_host();
  return copy_ns(from, at, bytes).value_or(0);
}

const OperationTimes* Machine::operation(std::string_view parameters, std::string_view operation) const {
  for (const OperationTimes& times : operations)
    if (times.parameters == parameters && times.operation == operation) return &times;
  return nullptr;
}

Machine default_machine() {
  Machine machine;
  machine.name = "default";
  machine.device = "NVIDIA H200";
  constexpr Tier kTiers[] = {Tier::pageable_host, Tier::pinned_host, Tier::cuda};
  for (const Tier from : kTiers) {
    for (const Tier to : kTiers) {
      if (from == Tier::cuda && to == Tier::cuda) continue;  // between peers: not measured
      const auto bandwidth = memory::known_bandwidth(representative(from), representative(to));
      if (!bandwidth) continue;
      machine.copies.push_back(
          {from, to, {{kGiB, static_cast<double>(kGiB) * kNsPerSecond / static_cast<double>(*bandwidth)}}});
    }
  }
  return machine;
}

}  // namespace fheres::workload
