#pragma once

#include <optional>
#include <string>
#include <vector>

#include <fheres/workload/evidence.hpp>
#include <fheres/workload/model.hpp>

namespace fheres::workload {

/// A value that a stage of a Program makes: adopted from the named reservation of its stage.
struct Produced {
  ValueIndex value = 0;
  Location at = Location::pageable_host();
  std::size_t from = 0;  // index into ProgramStage::reserve
  Place place;
};

/// A block that a stage's body carves out of a reservation of its stage, and frees when it ends.
struct Carved {
  std::size_t from = 0;  // index into ProgramStage::reserve
  Bytes bytes = 0;
};

/// One stage of a Program. Order at run time (R39): reclaim, admit reservations, enter, prefetch, body (produce), exit,
/// release reservations, discard what is released. What is prefetched is an ensure. It is settled at the end of the body of
/// the first stage that requires it, or before an action takes one of its ends (R23).
struct ProgramStage {
  Name name;
  std::vector<NamedAction> reclaim;
  std::vector<Reservation> reserve;
  std::vector<NamedAction> enter;
  std::vector<NamedAction> prefetch;
  std::vector<Requirement>
      require;  // what the body reads: there when it starts, a promise that `verify` holds, and settled when it ends
  std::vector<Carved> workspace;  // the body's blocks, for addresses (R27)
  std::vector<Produced> produce;
  std::vector<NamedAction> exit;
  std::vector<Operand> release;
  std::string variant{};  // of its body, where the workload left it open
};

/// The workload that a Program was compiled from.
struct WorkloadReference {
  std::string file;
  std::string sha256;
  Place place;
};

/// The portable, named, multi-stage content of a document of kind Plan. World::parameters is absent: values are bytes.
struct Program {
  Metadata metadata;
  std::optional<WorkloadReference> workload;
  World world;  // values: declared ones in the document's order, then produced ones by stage
  std::vector<ProgramStage> stages;
  std::optional<Evidence> evidence{};  // of a compiled one
};

/// The plan of one stage, with the handles of World::values (by ValueIndex).
residency::Plan plan_of(const ProgramStage& stage, std::span<const residency::HandleId> handles);

}  // namespace fheres::workload
