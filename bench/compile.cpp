// What whole-workload plans move, how near that is to the bound, and what compiling costs: README.md.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fheres/compile/compile.hpp>
#include <fheres/workload/rehearsal.hpp>

#include "compile_families.hpp"

namespace fheres::bench {
namespace {

/// Plain memory: it comes out of a process of its own.
struct Row {
  char family[32] = "";
  std::size_t stages = 0, values = 0;
  Bytes budget = 0, moved = 0, bound = 0, lru = 0, furthest = 0;
  bool proven = false;
  char method[32] = "none";
  char bound_by[32] = "";
  std::uint64_t nodes = 0;
  double seconds = 0, peak_mib = 0;
};

template <std::size_t N>
void copy(char (&to)[N], const std::string& from) {
  std::snprintf(to, N, "%s", from.c_str());
}

double mib(Bytes bytes) { return static_cast<double>(bytes) / static_cast<double>(kMiB); }

/// Peak resident memory of this process until now: what the workload takes is in it too.
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

Row compile_it(Family family, Bytes budget) {
  family.workload.world.set_budget(memory::Location::cuda(0), budget);
  const double start = cpu_seconds();
  const compile::Outcome outcome = compile::compile(family.workload);
  const double took = cpu_seconds() - start;
  Row row;
  copy(row.family, family.name);
  row.stages = family.workload.stages.size();
  row.values = family.workload.world.values.size();
  row.budget = budget;
  row.seconds = took;
  row.peak_mib = peak_mib();
  const auto* made = std::get_if<compile::Compiled>(&outcome);
  if (made == nullptr) return row;
  const workload::Evidence& evidence = *made->program.evidence;
  row.moved = evidence.moved_bytes;
  row.bound = evidence.lower_bound_bytes;
  row.proven = evidence.optimal();
  copy(row.method, evidence.method);
  copy(row.bound_by, evidence.bound);
  row.nodes = evidence.nodes;
  for (const compile::Attempt& attempt : made->attempts) {
    if (attempt.method == "controller") row.lru = attempt.moved_bytes.value_or(0);
    if (attempt.method == "furthest-next-use") row.furthest = attempt.moved_bytes.value_or(0);
  }
  // Where the workload is so large that the compiler does not ask it, the time is not in the row.
  if (row.lru == 0) row.lru = workload::rehearse(family.workload).moved_bytes;
  return row;
}

/// In a process of its own, so that its memory is its own.
Row measure(const Family& family, Bytes budget) {
  Row row;
  int pipe[2];
  if (::pipe(pipe) != 0) std::exit(1);
  const pid_t child = ::fork();
  if (child == 0) {
    row = compile_it(family, budget);
    const bool whole = ::write(pipe[1], &row, sizeof row) == static_cast<ssize_t>(sizeof row);
    ::_exit(whole ? 0 : 1);
  }
  ::close(pipe[1]);
  const bool whole = child > 0 && ::read(pipe[0], &row, sizeof row) == static_cast<ssize_t>(sizeof row);
  ::close(pipe[0]);
  if (child > 0) ::waitpid(child, nullptr, 0);
  if (!whole) {
    std::fprintf(stderr, "%s was not compiled\n", family.name.c_str());
    std::exit(1);
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
              row.family, row.stages, row.values, mib(row.budget), mib(row.moved), mib(row.bound), gap,
              row.proven ? "proven" : "", times(row.lru), times(row.furthest),
              static_cast<unsigned long long>(row.nodes), row.seconds, row.peak_mib, row.method);
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
        "\"seconds\": %.3f, \"peak_mib\": %.0f, \"method\": \"%s\", \"bound_by\": \"%s\"}",
        i == 0 ? "" : ",", r.family, r.stages, r.values, static_cast<unsigned long long>(r.budget),
        static_cast<unsigned long long>(r.moved), static_cast<unsigned long long>(r.bound),
        r.proven ? "true" : "false", static_cast<unsigned long long>(r.lru),
        static_cast<unsigned long long>(r.furthest), static_cast<unsigned long long>(r.nodes), r.seconds,
        r.peak_mib, r.method, r.bound_by);
  }
  std::fprintf(file, "\n  ]\n}\n");
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
      for (const Bytes part : {20, 10, 6, 4, 2}) run(sweep, sweep.total / part);
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
