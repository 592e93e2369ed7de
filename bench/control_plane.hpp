#pragma once

#include <functional>
#include <string>
#include <vector>

namespace fheres::bench {

/// Microseconds of host time, of one call.
struct HostTimes {
  double median = 0;
  double minimum = 0;
};

/// Calls `batch` times a sample, so that short calls are longer than the clock is coarse; warms up first.
HostTimes time_calls(int repetitions, int batch, const std::function<void()>& call);

/// One line of the table. Rows of one `family` that follow each other are one question at growing `size`.
struct Row {
  std::string name;
  std::string family;
  std::size_t size = 0;
  HostTimes times;
  double goal = 0;  // microseconds; 0: none
  std::string remark;
};

std::vector<Row> decide_rows();
std::vector<Row> manager_rows();

}  // namespace fheres::bench
