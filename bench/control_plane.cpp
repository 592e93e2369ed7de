// What the control plane costs, without a device: one line a case, as a table and as JSON (README.md).
#include "control_plane.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <thread>

namespace fheres::bench {

HostTimes time_calls(int repetitions, int batch, const std::function<void()>& call) {
  std::vector<double> times;
  for (int i = 0; i < repetitions + 5; ++i) {  // the first five warm up
    const auto start = std::chrono::steady_clock::now();
    for (int j = 0; j < batch; ++j) call();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    if (i >= 5) times.push_back(took.count() / batch);
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front()};
}

namespace {

// The exponent e of size^e between this row and the one before, from the minima: they are the least disturbed.
double growth(const Row* before, const Row& row) {
  if (before == nullptr || before->family != row.family) return 0;
  return std::log(row.times.minimum / before->times.minimum) /
         std::log(static_cast<double>(row.size) / static_cast<double>(before->size));
}

void print(const std::vector<Row>& rows) {
  std::printf("%-60s %10s %10s %7s %6s   (us)\n", "", "median", "minimum", "growth", "goal");
  const Row* before = nullptr;
  for (const Row& row : rows) {
    char grows[16] = "";
    if (const double e = growth(before, row); e != 0) std::snprintf(grows, sizeof grows, "n^%.2f", e);
    char goal[16] = "";
    if (row.goal > 0) std::snprintf(goal, sizeof goal, "%.0f", row.goal);
    std::printf("%-60s %10.2f %10.2f %7s %6s   %s\n", row.name.c_str(), row.times.median, row.times.minimum,
                grows, goal, row.remark.c_str());
    before = &row;
  }
}

// Names and remarks are ours: nothing in them needs escaping.
bool write_json(const std::vector<Row>& rows, const char* path) {
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return false;
  std::fprintf(file, "{\n  \"unit\": \"us\",\n  \"cores\": %u,\n  \"rows\": [",
               std::thread::hardware_concurrency());
  const Row* before = nullptr;
  for (const Row& row : rows) {
    std::fprintf(
        file,
        "%s\n    {\"name\": \"%s\", \"family\": \"%s\", \"size\": %zu, \"median\": %.3f, \"minimum\": %.3f",
        before == nullptr ? "" : ",", row.name.c_str(), row.family.c_str(), row.size, row.times.median,
        row.times.minimum);
    if (row.goal > 0) std::fprintf(file, ", \"goal\": %.0f", row.goal);
    if (const double e = growth(before, row); e != 0) std::fprintf(file, ", \"growth_exponent\": %.3f", e);
    std::fprintf(file, ", \"remark\": \"%s\"}", row.remark.c_str());
    before = &row;
  }
  std::fprintf(file, "\n  ]\n}\n");
  return std::fclose(file) == 0;
}

}  // namespace
}  // namespace fheres::bench

int main(int argc, char** argv) {
  using namespace fheres::bench;
  const char* json = nullptr;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--json" && i + 1 < argc) {
      json = argv[++i];
    } else {
      std::fprintf(stderr, "usage: bench_control_plane [--json FILE]\n");
      return 2;
    }
  }
  std::vector<Row> rows = decide_rows();
  const std::vector<Row> more = manager_rows();
  rows.insert(rows.end(), more.begin(), more.end());
  print(rows);
  if (json != nullptr && !write_json(rows, json)) {
    std::fprintf(stderr, "cannot write %s\n", json);
    return 1;
  }
  return 0;
}
