// CKKS operations on a CUDA device: checked against the cpu back end, then timed. See README.md.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include <fheres/memory/cuda.hpp>
#include <fheres/ring/cuda.hpp>

#include "figures.hpp"
#include "operations.hpp"
#include "sets.hpp"
#include "timing.hpp"

namespace fheres::bench {
namespace {

// Operand sets in use together: more than any device's cache.
constexpr Bytes kWorkingSet = 192 * kMiB;

struct Options {
  std::vector<std::string> sets;
  std::vector<std::string> operations;  // empty: all
  int device = 0;
  int group = 0;
  int repetitions = 30;
  std::string json;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 >= argc) throw std::invalid_argument("expected a value after " + name);
    const std::string value = argv[i + 1];
    if (name == "--set") {
      options.sets.push_back(value);
    } else if (name == "--operation") {
      options.operations.push_back(value);
    } else if (name == "--device") {
      options.device = std::stoi(value);
    } else if (name == "--group") {
      options.group = std::stoi(value);
    } else if (name == "--repetitions") {
      options.repetitions = std::stoi(value);
    } else if (name == "--json") {
      options.json = value;
    } else {
      throw std::invalid_argument(
          "expected --set, --operation, --device, --group, --repetitions or --json, got " + name);
    }
  }
  if (options.sets.empty()) options.sets.push_back("F");
  return options;
}

struct Row {
  std::string set;
  std::string operation;
  Bytes bytes;
  Measured measured;
  double arithmetic;  // microseconds at least
};

class Device {
 public:
  explicit Device(int number)
      : driver(memory::make_cuda_driver()),
        at(memory::Location::cuda(number)),
        stream(driver->make_stream(at, "bench")) {}
  std::shared_ptr<memory::Driver> driver;
  memory::Location at;
  memory::Stream stream;
};

// The first set's result on the device against the host's, byte by byte.
void check(const Operation& operation, const ckks::Evaluator& on_host, const ckks::Evaluator& on_device,
           const Operands& host, const Operands& device, Device& where) {
  operation.run(on_host, host, {});
  operation.run(on_device, device, where.stream);
  const std::vector<std::span<std::byte>> expected = host.results(operation.result_bytes);
  const std::vector<std::span<std::byte>> actual = device.results(operation.result_bytes);
  std::vector<std::byte> result(operation.result_bytes);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    where.driver->copy(where.stream, {memory::Location::pageable_host(), result.data(), result.size()},
                       {where.at, actual[i].data(), result.size()});
    where.driver->synchronize(where.stream);
    if (std::memcmp(result.data(), expected[i].data(), result.size()) != 0) {
      throw std::runtime_error(operation.name + ": the device's residues differ from the host's");
    }
  }
}

std::vector<Row> run(const std::string& name, const Options& options, Device& device) {
  const scheme::Parameters parameters = scheme::Parameters::make(find_set(name));
  const ckks::Context host_context = ckks::Context::on_host(parameters);
  const ckks::Evaluator on_host(host_context);
  const auto evaluator = [&](const ring::CudaBackendOptions& choice) {
    return ckks::Evaluator(
        ckks::Context(parameters, ring::make_cuda_backend(host_context.backend().shared_basis(),
                                                          device.driver, device.at, choice)),
        options.group);
  };
  const ckks::Evaluator on_device = evaluator({}), launching = evaluator({.graphs = 0});

  std::vector<Row> rows;
  std::unique_ptr<Operands> host;
  std::vector<std::unique_ptr<Operands>> sets;
  std::optional<Shape> shape;  // of host and sets
  for (const Operation& operation : operations(parameters)) {
    const std::vector<std::string>& only = options.operations;
    if (!only.empty() && std::find(only.begin(), only.end(), operation.name) == only.end()) continue;
    if (shape != operation.shape) {
      shape = operation.shape;
      sets.clear();
      host = std::make_unique<Operands>(parameters, *shape, device.driver, memory::Location::pageable_host());
      host->randomize(host_context.basis(), 1);
      while (sets.empty() || sets.size() * host->bytes() < kWorkingSet) {
        sets.push_back(std::make_unique<Operands>(parameters, *shape, device.driver, device.at));
        sets.back()->copy_from(*host, device.stream);
      }
    }
    check(operation, on_host, on_device, *host, *sets.front(), device);
    const auto run_on = [&](const ckks::Evaluator& its) {
      return [&](int set) { operation.run(its, *sets[static_cast<std::size_t>(set)], device.stream); };
    };
    const Measured measured = measure(*device.driver, device.stream, static_cast<int>(sets.size()),
                                      options.repetitions, run_on(on_device), run_on(launching));
    rows.push_back(
        {name, operation.name, operation.bytes, measured, arithmetic_floor(parameters, operation.name)});
  }
  return rows;
}

// The larger of what the arithmetic and what the bytes need at least.
double floor_of(const Row& row, double bandwidth) {
  return std::max(row.arithmetic, 1e6 * static_cast<double>(row.bytes) / bandwidth);
}

void print(const std::vector<Row>& rows, const std::string& device, double bandwidth) {
  fmt::print("{}, copy on the device {:.2f} TB/s read plus written\n", device, 1e-12 * bandwidth);
  fmt::print(
      "median (minimum) in us; one: a single call; queued: per call of many; launches: likewise, without "
      "graphs\n");
  fmt::print("{:<5} {:<29} {:>18} {:>18} {:>18} {:>8} {:>6} {:>7} {:>6}\n", "set", "operation", "one",
             "queued", "launches", "MB", "copy %", "floor", "goal");
  for (const Row& row : rows) {
    const auto cell = [](const Times& t) { return fmt::format("{:.1f} ({:.1f})", t.median, t.minimum); };
    const double share = static_cast<double>(row.bytes) / (1e-6 * row.measured.queued.median) / bandwidth;
    const std::optional<double> wanted = goal(row.set, row.operation);
    fmt::print("{:<5} {:<29} {:>18} {:>18} {:>18} {:>8.1f} {:>6.0f} {:>7.1f} {:>6}\n", row.set, row.operation,
               cell(row.measured.one), cell(row.measured.queued), cell(row.measured.launches),
               1e-6 * static_cast<double>(row.bytes), 100 * share, floor_of(row, bandwidth),
               wanted ? fmt::format("{:.0f}", *wanted) : "");
  }
}

void write_json(const std::string& path, const std::vector<Row>& rows, const std::string& device,
                double bandwidth, int repetitions) {
  std::string text = fmt::format(
      "{{\n  \"schema\": \"fheres/bench-ckks/v2\",\n  \"device\": \"{}\",\n  \"repetitions\": {},\n"
      "  \"copy_bytes_per_second\": {:.4g},\n  \"operations\": [\n",
      device, repetitions, bandwidth);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto times = [](const Times& t) {
      return fmt::format("{{\"median_us\": {:.3f}, \"minimum_us\": {:.3f}}}", t.median, t.minimum);
    };
    const Row& row = rows[i];
    const std::optional<double> wanted = goal(row.set, row.operation);
    text += fmt::format(
        "    {{\"set\": \"{}\", \"operation\": \"{}\", \"bytes\": {}, \"one\": {}, \"queued\": {}, "
        "\"launches\": {}, \"floor_us\": {:.3f}{}}}{}\n",
        row.set, row.operation, row.bytes, times(row.measured.one), times(row.measured.queued),
        times(row.measured.launches), floor_of(row, bandwidth),
        wanted ? fmt::format(", \"goal_us\": {:.0f}", *wanted) : "", i + 1 < rows.size() ? "," : "");
  }
  text += "  ]\n}\n";
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

int main_checked(int argc, char** argv) {
  const Options options = parse(argc, argv);
  Device device(options.device);
  const double bandwidth = copy_bandwidth(*device.driver, device.stream, options.repetitions);
  std::vector<Row> rows;
  for (const std::string& set : options.sets) {
    for (Row& row : run(set, options, device)) rows.push_back(std::move(row));
  }
  const std::string name = device.driver->describe(device.at);
  print(rows, name, bandwidth);
  if (!options.json.empty()) write_json(options.json, rows, name, bandwidth, options.repetitions);
  return 0;
}

}  // namespace
}  // namespace fheres::bench

int main(int argc, char** argv) {
  try {
    return fheres::bench::main_checked(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_ckks: %s\n", error.what());
    return 1;
  }
}
