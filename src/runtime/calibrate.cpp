#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <fheres/base/clock.hpp>
#include <fheres/residency/manager.hpp>
#include <fheres/runtime/calibrate.hpp>
#include <fheres/runtime/self_test.hpp>
#include <fheres/scheme/presets.hpp>

#include "calibrate_operations.hpp"
#include "stopwatch.hpp"

namespace fheres::runtime {
namespace {

using memory::Location;
using workload::Tier;

constexpr Bytes kSmallestCopy = 64 * kKiB;
constexpr Bytes kCopyStep = 4;
constexpr Bytes kDuplexCopy = 64 * kMiB;
constexpr Bytes kSlide = 4 * kMiB;
/// A copy each way at once that takes less than so much of both after each other goes on at once.
constexpr double kDuplexShare = 0.75;

/// Raw storage, freed with the object.
class Storage {
 public:
  Storage(memory::Driver& driver, Location at, Bytes bytes)
      : driver_(driver), extent_{at, driver.allocate(at, bytes), bytes} {}
  ~Storage() { driver_.deallocate(extent_.at, extent_.data, extent_.bytes); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  memory::Extent first(Bytes bytes) const { return {extent_.at, extent_.data, bytes}; }

 private:
  memory::Driver& driver_;
  memory::Extent extent_;
};

class Calibration {
 public:
  Calibration(const Machine& machine, Location device, const CalibrateOptions& options)
      : machine_(machine),
        driver_(*machine.driver),
        device_(device),
        options_(options),
        watch_{options.repetitions, options.longest_ns, options.interrupted} {}

  workload::Machine run() {
    for (const SelfTestStep& step : self_test(machine_, device_)) {
      if (!step.passed)
        throw memory::DeviceError(
            "known-answer test", fmt::format("{} {}: {}", driver_.describe(device_), step.name, step.detail));
    }
    made_.device = driver_.describe(device_);
    measure_copies();
    tell("both directions at once");
    made_.full_duplex = is_full_duplex();
    tell("a compaction");
    made_.compaction = compaction();
    tell("a stage's scope");
    made_.stage_ns = stage_ns();
    for (const std::string& preset : options_.presets) {
      const auto literal = scheme::find_preset(preset);
      if (!literal) throw scheme::ParameterError(fmt::format("there is no preset `{}`", preset));
      const scheme::Parameters parameters = scheme::Parameters::make(*literal);
      const ckks::Context context = machine_.context(parameters, device_);
      TimedOperations operations(context, driver_, driver_.make_stream(device_, "calibration"), watch_);
      for (const int level : levels_of(parameters)) {
        tell(fmt::format("{}, level {}", preset, level));
        operations.measure(level, made_);
      }
      const double expansion = operations.expansion();
      if (!made_.expansion || expansion > *made_.expansion) made_.expansion = expansion;
    }
    return std::move(made_);
  }

 private:
  void tell(const std::string& what) const {
    if (options_.progress) options_.progress(what);
  }

  void measure_copies() {
    const Location pinned = Location::pinned_host(), pageable = Location::pageable_host();
    for (const auto& [from, to] :
         {std::pair(pinned, device_), std::pair(device_, pinned), std::pair(pageable, device_),
          std::pair(device_, pageable), std::pair(pageable, pinned), std::pair(pinned, pageable)})
      measure_direction(from, to);
    if (driver_.device_count() < 2) return;
    const Location other = Location::cuda(device_.device() == 0 ? 1 : 0);
    if (!driver_.are_peers(device_, other)) return;
    made_.peers.push_back(std::minmax(device_, other));
    measure_direction(other, device_);
  }

  void measure_direction(Location from, Location to) {
    workload::CopyTimes times{workload::tier_of(from), workload::tier_of(to), {}};
    const Bytes largest = std::max(options_.largest_copy, kSmallestCopy);
    const Storage source(driver_, from, largest), destination(driver_, to, largest);
    // Memory of the host is there once it was written.
    for (const Storage* storage : {&source, &destination})
      if (driver_.host_addressable(storage->first(0).at))
        std::fill_n(storage->first(largest).data, largest, std::byte{1});
    memory::Stream stream;
    if (to.is_cuda() || from.is_cuda()) stream = driver_.make_stream(to.is_cuda() ? to : from, "calibration");
    for (Bytes bytes = kSmallestCopy; bytes <= largest; bytes *= kCopyStep) {
      tell(fmt::format("{} to {}, {}", from.name(), to.name(), format_bytes(bytes)));
      const double ns = watch_.time(
          [&] {
            if (stream) {
              driver_.copy(stream, destination.first(bytes), source.first(bytes));
            } else {
              driver_.copy_host(destination.first(bytes), source.first(bytes));
            }
          },
          [&] {
            if (stream) driver_.synchronize(stream);
          });
      times.points.push_back({bytes, ns});
    }
    // A smaller copy never takes more: what says so was disturbed, and disturbances only add time.
    for (std::size_t i = times.points.size() - 1; i-- > 0;)
      times.points[i].ns = std::min(times.points[i].ns, times.points[i + 1].ns);
    made_.copies.push_back(std::move(times));
  }

  bool is_full_duplex() {
    const Bytes bytes = std::min(kDuplexCopy, std::max(options_.largest_copy, kSmallestCopy));
    const Location pinned = Location::pinned_host();
    const Storage up(driver_, pinned, bytes), down(driver_, pinned, bytes), here(driver_, device_, bytes),
        there(driver_, device_, bytes);
    const memory::Stream in = driver_.make_stream(device_, "in"), out = driver_.make_stream(device_, "out");
    const auto time = [&](bool both) {
      const auto wait = [&] {
        driver_.synchronize(in);
        driver_.synchronize(out);
      };
      return watch_.time(
          [&] {
            driver_.copy(in, here.first(bytes), up.first(bytes));
            if (!both) wait();
            driver_.copy(out, down.first(bytes), there.first(bytes));
          },
          wait, 1);
    };
    return time(true) < kDuplexShare * time(false);
  }

  /// Bytes a second that slide down by a piece of typical size, as a compaction copies them (R27).
  double compaction() {
    const Bytes bytes = std::min(kDuplexCopy, std::max(options_.largest_copy, kSmallestCopy));
    const Bytes distance = std::min(kSlide, bytes);
    const Storage room(driver_, device_, bytes + distance);
    const memory::Stream stream = driver_.make_stream(device_, "calibration");
    std::byte* const base = room.first(bytes + distance).data;
    const double ns = watch_.time(
        [&] {
          for (Bytes at = 0; at < bytes; at += distance) {
            const Bytes piece = std::min(distance, bytes - at);
            driver_.copy(stream, {device_, base + at, piece}, {device_, base + at + distance, piece});
          }
        },
        [&] { driver_.synchronize(stream); });
    return static_cast<double>(bytes) * 1e9 / ns;
  }

  /// What the host spends on a stage whose values are all there: a scope with reservations, a lease, a wait.
  double stage_ns() {
    residency::ManagerOptions options;
    options.budgets = {{device_, 64 * kKiB}};
    residency::Manager manager(machine_.driver, std::move(options));
    const memory::Stream consumer = driver_.make_stream(device_, "calibration");
    residency::ValueSpec spec;
    spec.name = "calibration";
    spec.type = "bytes";
    spec.logical_bytes = spec.storage_bytes = kGranule;
    const residency::HandleId value = manager.adopt(manager.allocate(device_, kGranule), device_, spec);
    residency::Plan plan;
    plan.name = "calibration";
    plan.reservations = {{device_, kGranule, "outputs"}, {device_, kGranule, "workspace"}};
    plan.enter = {residency::Ensure{value, device_, {}}};
    const double ns = watch_.time(
        [&] {
          residency::Scope scope = manager.scope(plan);
          scope.enter();
          const residency::Allocation workspace = scope.reservation("workspace").allocate(kGranule);
          residency::Lease lease = manager.acquire({value}, device_, consumer);
          lease.release();
          driver_.synchronize(consumer);
          scope.close();
        },
        [] {});
    manager.close();
    return ns;
  }

  std::vector<int> levels_of(const scheme::Parameters& parameters) const {
    std::vector<int> levels = options_.levels;
    const int last = parameters.max_level();
    if (levels.empty()) levels = {0, last / 4, last / 2, 3 * last / 4, last - 1, last};
    std::erase_if(levels, [&](int level) { return level < 0 || level > last; });
    std::sort(levels.begin(), levels.end());
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    return levels;
  }

  const Machine& machine_;
  memory::Driver& driver_;
  Location device_;
  const CalibrateOptions& options_;
  Stopwatch watch_;
  workload::Machine made_;
};

}  // namespace

workload::Machine calibrate(const Machine& machine, memory::Location device,
                            const CalibrateOptions& options) {
  return Calibration(machine, device, options).run();
}

}  // namespace fheres::runtime
