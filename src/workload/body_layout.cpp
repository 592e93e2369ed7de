#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/base/lifetime.hpp>
#include <fheres/workload/body_layout.hpp>

namespace fheres::workload {
namespace {

/// The reservation labelled `label` at the location, else the first one there.
std::optional<std::size_t> pick(std::span<const residency::ReservationSpec> reserve, residency::Location at,
                                std::string_view label) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < reserve.size(); ++i) {
    if (reserve[i].at != at) continue;
    if (reserve[i].label == label) return i;
    if (!first) first = i;
  }
  return first;
}

}  // namespace

Bytes BodyLayout::outputs_bytes() const {
  return std::accumulate(output_bytes.begin(), output_bytes.end(), Bytes{0});
}

BodyLayout lay_out(std::span<const LayoutStep> steps, std::size_t outputs) {
  BodyLayout layout;
  layout.steps.resize(steps.size());
  layout.output_bytes.resize(outputs);
  layout.output_from.resize(outputs);
  std::vector<std::size_t> last(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    last[i] = i;
    for (std::size_t read : steps[i].reads) {
      FHERES_CHECK(read < i);
      last[read] = i;
    }
  }
  std::vector<Lifetime> lives;
  std::vector<Piece*> pieces;  // of each life
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::size_t made = steps[i].with.value_or(i);
    FHERES_CHECK(made <= i);
    const Bytes result = round_up_to_granule(steps[i].result_bytes);
    if (steps[i].output) {
      layout.output_bytes[*steps[i].output] = result;
    } else {
      lives.push_back({result, made, last[i]});
      pieces.push_back(&layout.steps[i].result.emplace());
    }
    if (steps[i].scratch_bytes == 0) continue;
    lives.push_back({round_up_to_granule(steps[i].scratch_bytes), i, i});
    pieces.push_back(&layout.steps[i].scratch);
  }
  layout.workspace_bytes = place_lifetimes(lives);
  for (std::size_t i = 0; i < lives.size(); ++i) *pieces[i] = {lives[i].offset, lives[i].bytes};
  return layout;
}

std::vector<residency::ReservationSpec> automatic_reservations(BodyLayout& layout, residency::Location at) {
  std::vector<residency::ReservationSpec> reserve;
  if (!layout.output_bytes.empty()) reserve.push_back({at, layout.outputs_bytes(), "outputs"});
  std::fill(layout.output_from.begin(), layout.output_from.end(), 0);
  layout.workspace_from.reset();
  if (layout.workspace_bytes != 0) {
    layout.workspace_from = reserve.size();
    reserve.push_back({at, layout.workspace_bytes, "workspace"});
  }
  return reserve;
}

std::vector<std::string> assign_reservations(BodyLayout& layout,
                                             std::span<const residency::ReservationSpec> reserve,
                                             residency::Location at) {
  std::vector<std::string> problems;
  std::vector<Bytes> wanted(reserve.size());
  const auto outputs = pick(reserve, at, "outputs");
  const auto workspace = pick(reserve, at, "workspace");
  layout.workspace_from.reset();
  if (!outputs && (layout.workspace_bytes != 0 || !layout.output_bytes.empty())) {
    problems.push_back(
        fmt::format("nothing is reserved at {}, and the body needs {} for outputs and {} as workspace",
                    at.name(), format_bytes(layout.outputs_bytes()), format_bytes(layout.workspace_bytes)));
    return problems;
  }
  if (!layout.output_bytes.empty()) {
    std::fill(layout.output_from.begin(), layout.output_from.end(), *outputs);
    wanted[*outputs] += layout.outputs_bytes();
  }
  if (layout.workspace_bytes != 0) {
    layout.workspace_from = *workspace;
    wanted[*workspace] += layout.workspace_bytes;
  }
  for (std::size_t i = 0; i < reserve.size(); ++i) {
    const Bytes room = round_up_to_granule(reserve[i].bytes);
    if (wanted[i] <= room) continue;
    problems.push_back(
        fmt::format("reservation `{}` has {} at {}, and the body needs {} of it ({} for outputs, {} as "
                    "workspace)",
                    reserve[i].label, format_exact_bytes(reserve[i].bytes), at.name(),
                    format_exact_bytes(wanted[i]), format_bytes(outputs == i ? layout.outputs_bytes() : 0),
                    format_bytes(layout.workspace_from == i ? layout.workspace_bytes : 0)));
  }
  return problems;
}

}  // namespace fheres::workload
