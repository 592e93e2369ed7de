#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <vector>

namespace fheres::compile {

/// The stages that do something with a value, ascending; and from which stage's prefetch on it is as they leave it.
struct Touch {
  struct Time {
    std::size_t stage;
    std::size_t from;
  };
  std::vector<Time> times;

  std::size_t before(std::size_t stage) const {
    const auto time = std::lower_bound(times.begin(), times.end(), stage,
                                       [](const Time& t, std::size_t s) { return t.stage < s; });
    return time == times.begin() ? 0 : std::prev(time)->from;
  }
  std::size_t after(std::size_t stage) const {
    const auto time = std::upper_bound(times.begin(), times.end(), stage,
                                       [](std::size_t s, const Time& t) { return s < t.stage; });
    return time == times.end() ? std::numeric_limits<std::size_t>::max() : time->stage;
  }
  bool in(std::size_t stage) const {
    return std::any_of(times.begin(), times.end(), [&](const Time& t) { return t.stage == stage; });
  }
};

}  // namespace fheres::compile
