// What whole-workload plans move, how near that is to the bound, and what compiling costs: README.md.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <sys/resource.h>

#include <fheres/compile/compile.hpp>

#include "compile_families.hpp"

namespace fheres::bench {
namespace {

struct Row {
  std::string family;
  std::size_t stages = 0, values = 0;
  Bytes budget = 0, moved = 0, bound = 0, lru = 0, furthest = 0;
  bool proven = false;
  std::string method;
  std::uint64_t nodes = 0;
  double seconds = 0;
};

double mib(Bytes bytes) { return static_cast<double>(bytes) / static_cast<double>(kMiB); }

/// Peak resident memory of this process until now.
double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// Of this process, which has one thread: what others do on the machine hardly shows.
double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Row measure(Family family, Bytes budget) {
  family.workload.world.set_budget(memory::Location::cuda(0), budget);
  const double start = cpu_seconds();
  const compile::Outcome outcome = compile::compile(family.workload);
  const double took = cpu_seconds() - start;
  Row row;
  row.family = family.name;
  row.stages = family.workload.stages.size();
  row.values = family.workload.world.values.size();
  row.budget = budget;
  row.seconds = took;
  const auto* made = std::get_if<compile::Compiled>(&outcome);
  if (made == nullptr) return row;
  const workload::Evidence& evidence = *made->program.evidence;
  row.moved = evidence.moved_bytes;
  row.bound = evidence.lower_bound_bytes;
  row.proven = evidence.optimal();
  row.method = evidence.method;
  row.nodes = evidence.nodes;
  for (const compile::Attempt& attempt : made->attempts) {
    if (attempt.method == "controller") row.lru = attempt.moved_bytes.value_or(0);
    if (attempt.method == "furthest-next-use") row.furthest = attempt.moved_bytes.value_or(0);
  }
  return row;
}

void print(const Row& row) {
  const auto times = [&](Bytes bytes) {
    return row.moved == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(row.moved);
  };
  const double gap =
      row.bound == 0 ? 0 : 100 * (static_cast<double>(row.moved) / static_cast<double>(row.bound) - 1);
  std::printf("%-16s %6zu %6zu %8.0f %10.0f %10.0f %6.2f%% %-6s %6.2f %6.2f %6llu %7.2f s %6.0f MiB  %s\n",
              row.family.c_str(), row.stages, row.values, mib(row.budget), mib(row.moved), mib(row.bound),
              gap, row.proven ? "proven" : "", times(row.lru), times(row.furthest),
              static_cast<unsigned long long>(row.nodes), row.seconds, peak_mib(), row.method.c_str());
  std::fflush(stdout);
}

bool write_json(const std::vector<Row>& rows, const char* path) {
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return false;
  std::fprintf(file, "{\n  \"rows\": [");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& r = rows[i];
    std::fprintf(
        file,
        "%s\n    {\"family\": \"%s\", \"stages\": %zu, \"values\": %zu, \"budget\": %llu, \"moved\": %llu, "
        "\"bound\": %llu, \"proven\": %s, \"controller\": %llu, \"furthest_next_use\": %llu, \"nodes\": "
        "%llu, "
        "\"seconds\": %.3f, \"method\": \"%s\"}",
        i == 0 ? "" : ",", r.family.c_str(), r.stages, r.values, static_cast<unsigned long long>(r.budget),
        static_cast<unsigned long long>(r.moved), static_cast<unsigned long long>(r.bound),
        r.proven ? "true" : "false", static_cast<unsigned long long>(r.lru),
        static_cast<unsigned long long>(r.furthest), static_cast<unsigned long long>(r.nodes), r.seconds,
        r.method.c_str());
  }
  std::fprintf(file, "\n  ],\n  \"peak_mib\": %.0f\n}\n", peak_mib());
  return std::fclose(file) == 0;
}

}  // namespace
}  // namespace fheres::bench

int main(int argc, char** argv) {
  using namespace fheres;
  using namespace fheres::bench;
  const char* json = nullptr;
  std::size_t largest = 10'000;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--json" && i + 1 < argc) {
      json = argv[++i];
    } else if (std::string_view(argv[i]) == "--largest" && i + 1 < argc) {
      largest = std::strtoul(argv[++i], nullptr, 10);
    } else {
      std::fprintf(stderr, "usage: bench_compile [--largest STAGES] [--json FILE]\n");
      return 2;
    }
  }
  std::printf("%-16s %6s %6s %8s %10s %10s %7s %-6s %6s %6s %6s %9s %10s\n", "family", "stages", "values",
              "budget", "moved", "bound", "gap", "", "LRU x", "FNU x", "nodes", "time", "peak");
  std::vector<Row> rows;
  const auto run = [&](const Family& family, Bytes budget) {
    rows.push_back(measure(family, std::max(budget, family.smallest)));
    print(rows.back());
  };
  using Make = Family (*)(std::size_t, std::size_t);
  for (const Make make : {Make(&key_reuse), Make(&layered), Make(&random_uses)}) {
    const Family sweep = make(816, 730);
    if (largest >= 816)
      for (const Bytes budget : {800, 1600, 2400, 3200, 4800}) run(sweep, budget * 1'000'000);
    for (const std::size_t size : {std::size_t{1'000}, std::size_t{10'000}}) {
      if (size > largest) continue;
      const Family family = make(size, size);
      run(family, family.total / 8);
    }
  }
  if (json != nullptr && !write_json(rows, json)) {
    std::fprintf(stderr, "cannot write %s\n", json);
    return 1;
  }
  return 0;
}
