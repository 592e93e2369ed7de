#include "compile_families.hpp"

#include <algorithm>
#include <random>

namespace fheres::bench {
namespace {

using workload::Location;
using workload::ValueIndex;

const Location kDevice = Location::cuda(0);

class Maker {
 public:
  explicit Maker(std::string name) { family_.name = std::move(name); }

  ValueIndex value(Bytes bytes) {
    workload::Value value;
    value.name.text = "v" + std::to_string(world().values.size());
    value.spec = workload::make_bytes_spec(value.name.text, bytes, residency::ReplicaMode::replicable);
    value.at = {Location::pinned_host()};
    world().values.push_back(std::move(value));
    return world().values.size() - 1;
  }

  void stage(const std::vector<ValueIndex>& needs, Bytes reserve) {
    workload::Stage stage;
    stage.name.text = "s" + std::to_string(family_.workload.stages.size());
    stage.at = kDevice;
    for (const ValueIndex v : needs) {
      const bool known = std::any_of(stage.require.begin(), stage.require.end(),
                                     [&](const auto& r) { return r.value == v; });
      if (!known) stage.require.push_back({v, kDevice, {}});
    }
    stage.reserve.push_back({{kDevice, reserve, "workspace"}, {}});
    family_.workload.stages.push_back(std::move(stage));
  }

  /// A value that the last stage makes, out of its workspace.
  ValueIndex output(Bytes bytes) {
    const ValueIndex v = value(bytes);
    workload::Stage& stage = family_.workload.stages.back();
    world().values[v].at.clear();
    world().values[v].produced_by = family_.workload.stages.size() - 1;
    stage.outputs.push_back({0, v, {}});
    stage.layout.output_from.push_back(0);
    stage.reserve[0].spec.bytes += bytes;
    return v;
  }

  void release(ValueIndex v) {
    family_.workload.stages.back().release.push_back({workload::Operand::From::value, v, {}});
  }

  Family finish() {
    world().policy.fallback[kDevice] = {Location::pinned_host(), Location::pageable_host()};
    for (const workload::Value& value : world().values) family_.total += value.spec.storage_bytes;
    for (const workload::Stage& stage : family_.workload.stages) {
      Bytes sum = 0;
      for (const workload::Reservation& item : stage.reserve) sum += round_up_to_granule(item.spec.bytes);
      for (const workload::Requirement& item : stage.require)
        sum += world().values[item.value].spec.storage_bytes;
      family_.smallest = std::max(family_.smallest, sum);
    }
    return std::move(family_);
  }

  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }

 private:
  workload::World& world() { return family_.workload.world; }

  Family family_;
  std::mt19937_64 engine_{20240613};
};

}  // namespace

Family key_reuse(std::size_t stages, std::size_t values) {
  Maker make("key reuse");
  // Two keys a stage, walked in order; the second half of each round is at a lower level, with smaller keys.
  std::vector<ValueIndex> keys;
  for (std::size_t i = 0; i + 1 < values; ++i) keys.push_back(make.value((i < values / 2 ? 40 : 14) * kMiB));
  const ValueIndex x = make.value(17 * kMiB);
  for (std::size_t s = 0; s < stages; ++s)
    make.stage({x, keys[2 * s % keys.size()], keys[(2 * s + 1) % keys.size()]}, 60 * kMiB);
  return make.finish();
}

Family layered(std::size_t stages, std::size_t values) {
  Maker make("layered network");
  const std::size_t tiles = 8;
  const std::size_t layers = std::max<std::size_t>(stages / tiles / 4, 1);  // seen by four batches
  std::vector<ValueIndex> keys, weights;
  const std::size_t key_count = std::max<std::size_t>(values / 16, 4);
  for (std::size_t i = 0; i < key_count; ++i) keys.push_back(make.value((12 + i % 5 * 6) * kMiB));
  const std::size_t weight_count = std::max<std::size_t>(std::min(values / 2, layers * tiles), 1);
  for (std::size_t i = 0; i < weight_count; ++i) weights.push_back(make.value((4 + i % 3 * 3) * kMiB));
  std::vector<ValueIndex> before;
  std::vector<ValueIndex> now;
  for (std::size_t s = 0; s < stages; ++s) {
    const std::size_t layer = s / tiles % layers;
    std::vector<ValueIndex> needs{weights[(layer * tiles + s % tiles) % weight_count]};
    for (std::size_t k = 0; k < 3; ++k) needs.push_back(keys[(layer * 5 + s % tiles * 3 + k) % key_count]);
    for (std::size_t k = 0; k < std::min<std::size_t>(before.size(), 2); ++k)
      needs.push_back(before[(s + k) % before.size()]);
    make.stage(needs, 40 * kMiB);
    now.push_back(make.output(6 * kMiB));
    if (s % tiles != tiles - 1) continue;
    for (const ValueIndex v : before) make.release(v);
    before = std::exchange(now, {});
  }
  return make.finish();
}

Family random_uses(std::size_t stages, std::size_t values) {
  Maker make("random");
  const std::size_t made = stages / 4;
  const std::size_t declared = values > made ? values - made : values / 2 + 1;
  std::vector<ValueIndex> all;
  for (std::size_t i = 0; i < declared; ++i) all.push_back(make.value((1 + make.below(45)) * kMiB));
  for (std::size_t s = 0; s < stages; ++s) {
    std::vector<ValueIndex> needs;
    const std::size_t count = 1 + make.below(4);
    for (std::size_t k = 0; k < count; ++k) {
      // The product of two draws: a few values are needed often, most hardly ever.
      needs.push_back(all[make.below(all.size()) * (1 + make.below(16)) / 16]);
    }
    make.stage(needs, 30 * kMiB);
    if (s % 4 == 3 && all.size() < values) all.push_back(make.output((1 + make.below(20)) * kMiB));
  }
  return make.finish();
}

}  // namespace fheres::bench
