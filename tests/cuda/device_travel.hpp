#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fheres/residency/copy_rules.hpp>

#include "cuda/stream_work.hpp"

namespace fheres::test {

struct Journey {
  std::vector<std::string> lines;  // every refusal, then every transition; the same on every driver
  std::size_t wrong_sums = 0;
  Bytes staged = 0;  // the most that was charged at pinned-host
};

/// Values go between cuda:0, cuda:1 and pinned-host, at random, and what arrives on a device is summed up there while
/// the copy may still be on its way.
Journey travel(const std::shared_ptr<memory::Driver>& driver, const StreamWork& work,
               const residency::CopyRules& rules, std::uint64_t seed);

/// Two journeys by the same rules are the same, all sums are right, and staging is charged exactly where devices are not
/// peers.
void check_journeys(const Journey& seen, const Journey& expected, bool direct);

}  // namespace fheres::test
