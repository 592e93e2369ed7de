#include "explanations.hpp"

namespace fheres::documents {
namespace {

constexpr Explanation kMachines[] = {
    {"FHR0701",
     "Times and rates have a unit: ns, us, ms or s, and B/s, kB/s, MB/s or GB/s, with powers of 1000.",
     "machine: {copies: [{from: cuda, to: pinned-host, bandwidth: {1 MiB: 5 GB}}]}\n",
     "Write `4.6 us` or `13.7 GB/s`. `fheres calibrate` measures a machine and writes such a document."},
    {"FHR0702",
     "A machine says each copy and operation once, by sizes that take longer the larger they are, and in "
     "regions of 256 B: what "
     "contradicts that cannot be measured times.",
     "machine: {granularity: 512}\n", "Leave out one of the two, or measure again: `fheres calibrate`."},
};

}  // namespace

std::span<const Explanation> machine_explanations() { return kMachines; }

}  // namespace fheres::documents
