#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fheres/base/bytes.hpp>
#include <fheres/residency/plan.hpp>

namespace fheres::workload {

/// A piece of the workspace block. Offsets and sizes are whole granules.
struct Piece {
  Bytes offset = 0;
  Bytes bytes = 0;
};

/// One operation, as far as its memory goes.
struct LayoutStep {
  Bytes result_bytes = 0;             // of the result
  Bytes scratch_bytes = 0;            // while the operation runs
  std::vector<std::size_t> reads;     // earlier steps whose results it reads
  std::optional<std::size_t> output;  // the result is kept: this output of the stage, a block of its own
  std::optional<std::size_t> with{};  // made together with that earlier step's result, and without scratch
};

/// Where a stage's body works: one workspace block with offsets by lifetime, one block for each output.
struct BodyLayout {
  struct Step {
    std::optional<Piece> result;  // in the workspace; absent for an output
    Piece scratch;                // in the workspace; zero bytes where none is needed
  };
  std::vector<Step> steps;
  Bytes workspace_bytes = 0;
  std::vector<Bytes> output_bytes;  // by output

  /// The reservation (index) that the workspace is carved from, and that each output is adopted from.
  std::optional<std::size_t> workspace_from;  // absent when workspace_bytes is 0
  std::vector<std::size_t> output_from;

  Bytes outputs_bytes() const;
};

/// Offsets such that no two pieces overlap that live at once: a result lives from its operation to its last reader,
/// a scratch piece while its operation runs. Larger pieces are placed first, each at the lowest free offset.
/// Operations never work in place. Deterministic. `outputs` is the number of outputs.
BodyLayout lay_out(std::span<const LayoutStep> steps, std::size_t outputs);

/// The two reservations of `reserve: auto`, exactly what the layout needs: `outputs` first, then `workspace`. One that
/// would be empty is left out. Sets the layout's reservation indices.
std::vector<residency::ReservationSpec> automatic_reservations(BodyLayout& layout, residency::Location at);

/// Finds the reservations of a list that serve the layout at `at` and sets its indices: outputs come from the one
/// labelled `outputs`, else the first at the location; the workspace from the one labelled `workspace`, else likewise.
/// Returns what does not fit, one lower-case line each with both figures; empty when all does.
std::vector<std::string> assign_reservations(BodyLayout& layout,
                                             std::span<const residency::ReservationSpec> reserve,
                                             residency::Location at);

}  // namespace fheres::workload
