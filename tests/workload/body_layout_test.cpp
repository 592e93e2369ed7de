#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include <fheres/workload/body_layout.hpp>

using namespace fheres;
using namespace fheres::workload;
using residency::Location;
using residency::ReservationSpec;

namespace {

// rotate (2 MiB, scratch 9.25), multiply_plain (2 MiB), rescale (1.75 MiB kept, scratch 0.25).
std::vector<LayoutStep> rotate_scale() {
  return {{2 * kMiB, 9 * kMiB + 256 * kKiB, {}, {}},
          {2 * kMiB, 0, {0}, {}},
          {kMiB + 768 * kKiB, 256 * kKiB, {1}, 0}};
}

}  // namespace

TEST_CASE("the sample's body needs its largest moment and not the sum of all results") {
  BodyLayout layout = lay_out(rotate_scale(), 1);
  CHECK(layout.workspace_bytes == 11 * kMiB + 256 * kKiB);
  CHECK(layout.outputs_bytes() == kMiB + 768 * kKiB);
  CHECK_FALSE(layout.steps[2].result);
  const auto reserve = automatic_reservations(layout, Location::cuda(0));
  REQUIRE(reserve.size() == 2);
  CHECK(reserve[0] == ReservationSpec{Location::cuda(0), kMiB + 768 * kKiB, "outputs"});
  CHECK(reserve[1] == ReservationSpec{Location::cuda(0), 11 * kMiB + 256 * kKiB, "workspace"});
  CHECK(layout.workspace_from == 1u);
  CHECK(layout.output_from == std::vector<std::size_t>{0});
}

TEST_CASE("a body that only keeps results has no workspace reservation, and one that keeps none no outputs") {
  BodyLayout kept = lay_out(std::vector<LayoutStep>{{kMiB, 0, {}, 0}}, 1);
  CHECK(automatic_reservations(kept, Location::cuda(0)).size() == 1);
  CHECK_FALSE(kept.workspace_from);
  BodyLayout lost = lay_out(std::vector<LayoutStep>{{kMiB, 0, {}, {}}}, 0);
  const auto reserve = automatic_reservations(lost, Location::cuda(0));
  REQUIRE(reserve.size() == 1);
  CHECK(reserve[0].label == "workspace");
}

TEST_CASE("no two pieces that live at once overlap, whatever the body") {
  const std::uint64_t seed = 5;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::vector<LayoutStep> steps(1 + random() % 12);
    std::size_t outputs = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      steps[i].result_bytes = 1 + random() % 5000;
      steps[i].scratch_bytes = random() % 2 ? random() % 9000 : 0;
      for (std::size_t r = 0; r < i; ++r) {
        if (random() % 3 == 0) steps[i].reads.push_back(r);
      }
      if (random() % 4 == 0) steps[i].output = outputs++;
    }
    const BodyLayout layout = lay_out(steps, outputs);
    std::vector<std::size_t> last(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      last[i] = i;
      for (const std::size_t read : steps[i].reads) last[read] = i;
    }
    struct Live {
      Piece piece;
      std::size_t from, to;
    };
    std::vector<Live> pieces;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (layout.steps[i].result) pieces.push_back({*layout.steps[i].result, i, last[i]});
      if (layout.steps[i].scratch.bytes) pieces.push_back({layout.steps[i].scratch, i, i});
    }
    Bytes lower_bound = 0, sum = 0;
    for (std::size_t t = 0; t < steps.size(); ++t) {
      Bytes alive = 0;
      for (const Live& a : pieces) {
        if (a.from <= t && t <= a.to) alive += a.piece.bytes;
      }
      lower_bound = std::max(lower_bound, alive);
    }
    for (const Live& a : pieces) {
      sum += a.piece.bytes;
      REQUIRE(a.piece.offset % kGranule == 0);
      REQUIRE(a.piece.bytes % kGranule == 0);
      REQUIRE(a.piece.offset + a.piece.bytes <= layout.workspace_bytes);
      for (const Live& b : pieces) {
        if (&a == &b || a.to < b.from || b.to < a.from) continue;
        REQUIRE((a.piece.offset + a.piece.bytes <= b.piece.offset ||
                 b.piece.offset + b.piece.bytes <= a.piece.offset));
      }
    }
    REQUIRE(layout.workspace_bytes >= lower_bound);
    REQUIRE(layout.workspace_bytes <= sum);
  }
}

TEST_CASE("a list serves outputs from the one labelled so, and both from one where there is only one") {
  BodyLayout layout = lay_out(rotate_scale(), 1);
  const std::vector<ReservationSpec> one{{Location::pinned_host(), kMiB, "outputs"},
                                         {Location::cuda(0), 13 * kMiB, "workspace"}};
  CHECK(assign_reservations(layout, one, Location::cuda(0)).empty());
  CHECK(layout.workspace_from == 1u);
  CHECK(layout.output_from[0] == 1);
  const std::vector<ReservationSpec> two{{Location::cuda(0), 12 * kMiB, "scratch"},
                                         {Location::cuda(0), 2 * kMiB, "outputs"}};
  CHECK(assign_reservations(layout, two, Location::cuda(0)).empty());
  CHECK(layout.workspace_from == 0u);
  CHECK(layout.output_from[0] == 1);
}

TEST_CASE("a list that is a granule too small says so with both figures") {
  BodyLayout layout = lay_out(rotate_scale(), 1);
  const std::vector<ReservationSpec> exact{{Location::cuda(0), 13 * kMiB, "room"}};
  CHECK(assign_reservations(layout, exact, Location::cuda(0)).empty());
  const std::vector<ReservationSpec> small{{Location::cuda(0), 13 * kMiB - kGranule, "room"}};
  const auto problems = assign_reservations(layout, small, Location::cuda(0));
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].find("13631232 B") != std::string::npos);
  CHECK(problems[0].find("13631488 B (13 MiB)") != std::string::npos);
  CHECK(assign_reservations(layout, exact, Location::cuda(1)).front().find("nothing is reserved at cuda:1") ==
        0);
}
