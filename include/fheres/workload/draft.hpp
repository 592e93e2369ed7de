#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fheres/scheme/parameters.hpp>
#include <fheres/workload/machine.hpp>
#include <fheres/workload/message.hpp>
#include <fheres/workload/model.hpp>
#include <fheres/workload/program.hpp>

// A workload as somebody wrote it: names not resolved, nothing inferred, nothing checked beyond its shape.
// Documents make drafts from YAML, programs may make them in code; `check` turns a draft into a model or says
// what is wrong.
namespace fheres::workload {

enum class ValueKind { ciphertext, plaintext, rotation_key, conjugation_key, relinearization_key, bytes };

struct ValueDraft {
  Name name;
  ValueKind kind = ValueKind::bytes;
  Place kind_place;
  std::optional<Message> message;  // ciphertext, plaintext; may be absent where there is a file
  Place message_place;
  bool for_addition = false;  // plaintext: encoded at the scale of what it is added to
  bool compact = false;       // plaintext: kept as one word a coefficient, and expanded where it is used
  std::optional<int> level;   // absent: fresh ciphertexts 0, others the freshest level where they are used
  Place level_place;
  std::int64_t steps = 0;  // rotation key: slot i goes to slot i + steps
  Place steps_place;
  bool seeded = false;  // key: kept in seeded form, and expanded where it is used
  Place form_place;
  bool choose_form = false;   // left to the compiler: which of its forms it has
  bool choose_level = false;  // key: and whether it is one key, or one for each level of its use
  std::string variant;        // the one that was chosen: by a Plan, or by select
  Bytes bytes = 0;            // opaque
  std::vector<Location> at;
  std::vector<Place> at_places;
  bool at_is_bad = false;  // part of it could not be read, which has been reported
  bool exclusive = false;
  std::optional<Location> source;   // made again there: encoded (plaintext), or read from its file
  std::optional<std::string> file;  // where its bytes come from
  Place source_place;
  std::optional<Name> backing;      // of a Plan: the value that it is expanded from (R66)
  std::optional<int> giant_step;    // plaintext: a diagonal of that giant step; made by check
  std::optional<ValueIndex> backs;  // what that value is expanded from: made by check, never by a document
  std::int64_t priority = 0;
  std::optional<Name> stable_key;
};

struct ActionDraft {
  NamedAction::Verb verb = NamedAction::Verb::ensure;
  Name value;
  Location at = Location::pageable_host();
  std::optional<Location> from;
};

struct PlanDraft {
  std::vector<ActionDraft> reclaim, enter, prefetch, exit;
  std::optional<std::vector<Reservation>> reserve;  // absent: automatic
  Place place;
};

/// A diagonal of linear_transform: the value that holds it.
struct DiagonalDraft {
  std::int64_t index = 0;
  Name value;
};

struct OperationDraft {
  Name result;
  Name operation;
  std::vector<Name> operands;
  std::optional<Name> key;
  std::optional<std::int64_t> steps;  // rotate without a key's name: the declared key with these steps
  Place steps_place;
  std::optional<double> scalar;  // add_scalar and its like: the number beside the operand
  // sum_slots and polynomial: what stands beside the operand.
  std::optional<std::uint64_t> count;
  std::optional<std::vector<double>> coefficients;
  scheme::PolynomialBasis basis = scheme::PolynomialBasis::power;
  std::vector<DiagonalDraft> diagonals;  // of linear_transform, at least one
  std::optional<int> baby_steps;
  /// rotate_many: which of its results this is. It has a draft for each, one after the other.
  std::optional<std::size_t> turn;
  bool beside_is_bad =
      false;  // a number or one of those was given and could not be read, which has been reported
};

struct RequirementDraft {
  Name value;
  Location at = Location::pageable_host();
};

struct StageDraft {
  Name name;
  std::optional<Location> at;
  bool at_is_bad = false;      // given, and could not be read, which has been reported
  bool body_is_given = false;  // a body, requirements or a plan are given, though they may be bad
  std::vector<OperationDraft> body;
  std::vector<Name> outputs;
  std::set<std::string> unchecked;  // outputs that are kept and not compared
  std::vector<RequirementDraft> require;
  std::optional<std::vector<Reservation>> reserve;  // absent: automatic
  Place reserve_place;
  std::vector<Name> release;
  std::optional<PlanDraft> plan;
  int key_switch_group = 0;        // 0: all output limbs at once
  bool choose_key_switch = false;  // left to the compiler
  Place key_switch_place;
};

/// `security: ...` and the rest of `parameters`, and where it stands.
struct ParametersDraft {
  scheme::ParametersLiteral literal;
  Place place;
};

struct WorldDraft {
  std::optional<ParametersDraft> parameters;
  bool parameters_are_bad = false;  // they were given and could not be read, which has been reported
  std::vector<LocationEntry> locations;
  std::vector<std::pair<Location, Location>> peers;
  std::shared_ptr<const Machine> machine;  // null where the document says nothing of times
  PolicyEntry policy;
  std::vector<ValueDraft> values;
};

struct ExpectationDraft {
  Name output;
  Message message;
  Place message_place;
  std::optional<std::uint64_t> slots;
  Place slots_place;
  std::optional<double> tolerance;
};

struct WorkloadDraft {
  Metadata metadata;
  WorldDraft world;
  std::vector<StageDraft> stages;
  Checks checks;
  std::vector<ExpectationDraft> expect;
  std::optional<std::uint64_t> seed;
};

struct RequestDraft {
  Name name;
  std::vector<RequirementDraft> require;
  std::vector<Reservation> reserve;
};

struct RequestSetDraft {
  Metadata metadata;
  WorldDraft world;
  bool world_is_other = false;  // it is another document's: `world` is not looked at
  /// The other document; absent where it could not be read, which has been reported.
  std::optional<Workload> checked_workload;
  std::optional<Name> after;  // one of its stages: it and those before it have run
  std::vector<RequestDraft> requests;
};

struct ProducedDraft {
  Name name;
  Bytes bytes = 0;
  Location at = Location::pageable_host();
  Name from;  // a reservation's label
};

struct CarvedDraft {
  Name from;  // a reservation's label
  Bytes bytes = 0;
};

struct ProgramStageDraft {
  Name name;
  std::vector<ActionDraft> reclaim, enter, prefetch, exit;
  std::vector<Reservation> reserve;
  std::vector<RequirementDraft> require;
  std::vector<CarvedDraft> workspace;
  std::vector<ProducedDraft> produce;
  std::vector<Name> release;
  std::string variant;
};

struct ProgramDraft {
  Metadata metadata;
  std::optional<WorkloadReference> workload;
  WorldDraft world;
  std::vector<ProgramStageDraft> stages;
  std::optional<Evidence> evidence;
};

}  // namespace fheres::workload
