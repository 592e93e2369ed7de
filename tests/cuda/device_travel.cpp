#include "cuda/device_travel.hpp"

#include <new>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fheres/residency/manager.hpp>

#include "support/random.hpp"

namespace fheres::test {
namespace {

using memory::Location;
using memory::Stream;
using namespace fheres::residency;

const Location kPinned = Location::pinned_host();
const Location kOne = Location::cuda(0);
const Location kTwo = Location::cuda(1);

std::string line_of(const TransitionReport& report) {
  const auto name_of = [](const std::optional<Location>& at) { return at ? at->name() : std::string("-"); };
  return fmt::format("{} {} {} work {} from {} to {}: {} B, {} B compacted{}{}", report.sequence,
                     verb_of(report.action), value_of(report.action).serial, static_cast<int>(report.work),
                     name_of(report.source), name_of(report.destination), report.bytes, report.compacted,
                     report.asynchronous ? ", asynchronous" : "",
                     report.no_op() ? ", " + report.no_op_reason : "");
}

}  // namespace

Journey travel(const std::shared_ptr<memory::Driver>& driver, const StreamWork& work, const CopyRules& rules,
               std::uint64_t seed) {
  constexpr Bytes kUnit = 64 * kKiB;
  constexpr std::size_t kCount = 6;
  Random random(seed);
  Journey journey;
  ManagerOptions options;
  options.budgets = {{kOne, 14 * kUnit}, {kTwo, 14 * kUnit}, {kPinned, 8 * kUnit}};
  options.copies = rules;
  options.trace_capacity = 100'000;
  Manager manager(driver, options);
  struct Known {
    HandleId handle;
    Bytes bytes;
    std::uint64_t sum;
  };
  std::vector<Known> values;
  struct Result {
    std::byte* storage;
    memory::Driver& driver;
    ~Result() { driver.deallocate(kPinned, storage, kGranule); }
  } words{driver->allocate(kPinned, kGranule), *driver};
  auto* gate = new (words.storage) Gate{1};
  auto* result = new (words.storage + 64) ReaderResult{};
  for (std::size_t i = 0; i < kCount; ++i) {
    const Bytes bytes = (1 + random.below(4)) * kUnit;
    const std::uint64_t contents = random.bits();
    const Location at = i % 2 == 0 ? kOne : kTwo;
    const Stream stream = driver->make_stream(at, "fill");
    Allocation block = manager.allocate(at, bytes);
    work.fill(stream, block.data(), bytes, contents);
    driver->synchronize(stream);
    ValueSpec spec;
    spec.name = fmt::format("v{}", i);
    spec.type = "bytes";
    spec.logical_bytes = spec.storage_bytes = bytes;
    values.push_back({manager.adopt(std::move(block), at, spec), bytes, sum_of_contents(contents, bytes)});
  }
  const Stream readers[2] = {driver->make_stream(kOne, "reader"), driver->make_stream(kTwo, "reader")};
  for (int step = 0; step < 300; ++step) {
    const Known& value = values[random.below(kCount)];
    const Location at = random.chance(2) ? kOne : kTwo;
    const std::uint64_t kind = random.below(5);
    try {
      if (kind == 0) {
        manager.move(value.handle, at);
      } else if (kind == 1) {
        manager.drop(value.handle, at);
      } else if (kind == 2) {
        manager.ensure(value.handle, at);
      } else {
        manager.prefetch(value.handle, at);
        const Stream& reader = readers[at == kOne ? 0 : 1];
        {
          const Lease lease = manager.acquire({value.handle}, at, reader);
          work.read(reader,
                    {lease.view(value.handle).data, value.bytes, gate, 0, random.below(100'000), result});
        }
        driver->synchronize(reader);
        journey.wrong_sums += result->sum == value.sum ? 0 : 1;
        manager.settle(value.handle, at);
      }
    } catch (const ResidencyError& error) {
      journey.lines.push_back(fmt::format("{}: {}", step, error.what()));
    }
  }
  for (const TransitionReport& report : manager.trace()) journey.lines.push_back(line_of(report));
  for (const LocationSnapshot& location : manager.snapshot().locations)
    if (location.account.at == kPinned) journey.staged = location.account.peak_charged;
  manager.close();
  return journey;
}

void check_journeys(const Journey& seen, const Journey& expected, bool direct) {
  CHECK(expected.wrong_sums == 0);
  CHECK(seen.wrong_sums == 0);
  CHECK((seen.staged == 0) == direct);
  CHECK(seen.staged == expected.staged);
  REQUIRE(seen.lines.size() == expected.lines.size());
  std::size_t copies = 0;
  for (std::size_t i = 0; i < seen.lines.size(); ++i) {
    REQUIRE(seen.lines[i] == expected.lines[i]);
    if (seen.lines[i].find("from cuda:0 to cuda:1") != std::string::npos) ++copies;
  }
  CHECK(copies > 10);
}

}  // namespace fheres::test
