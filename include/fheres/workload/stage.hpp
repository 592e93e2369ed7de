#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include <fheres/residency/action.hpp>
#include <fheres/residency/plan.hpp>
#include <fheres/scheme/linear_transform.hpp>
#include <fheres/scheme/polynomial.hpp>
#include <fheres/workload/body_layout.hpp>
#include <fheres/workload/value.hpp>

namespace fheres::workload {

/// What an operation reads: a managed value, or the result of an earlier operation of the same body.
struct Operand {
  enum class From { value, result };
  From from = From::value;
  std::size_t index = 0;  // a ValueIndex, or an index into Stage::body
  Place place;
};

/// sum_slots: how many slots each sum has; 0: all.
struct SumSlots {
  std::uint64_t count = 0;
};
struct Polynomial {
  std::vector<double> coefficients;
  scheme::PolynomialBasis basis = scheme::PolynomialBasis::power;
};
/// The operands after the ciphertext are the diagonals' plaintexts, in the order of scheme::LinearTransform.
struct LinearTransform {
  int baby_steps = 0;  // 0: chosen
  std::vector<std::int64_t> diagonals;
};
/// An operation that is made of others, on one ciphertext.
using Composite = std::variant<SumSlots, Polynomial, LinearTransform>;
/// The composite of that name in documents, as it is without anything beside it.
std::optional<Composite> composite_named(std::string_view name);
std::string_view name(const Composite& composite);

/// One operation of a stage's body.
struct BodyOperation {
  Name result;
  scheme::Operation operation = scheme::Operation::add;  // unless it is a composite
  std::optional<Composite> composite;
  std::vector<Operand> operands;
  std::optional<Operand> key;
  std::vector<Operand> keys;  // of a composite; of a circuit, in its order
  std::optional<scheme::Scalar> scalar;
  std::shared_ptr<const scheme::Circuit> circuit;            // of a composite other than linear_transform
  std::shared_ptr<const scheme::LinearTransform> transform;  // of linear_transform
  /// rotate_many: a rotation or conjugation for each result, one after the other, that run as one operation.
  struct Turns {
    std::size_t first = 0;  // index into Stage::body
    std::size_t count = 0;
  };
  std::optional<Turns> turns;
  scheme::ValueType type;             // of the result
  Bytes scratch_bytes = 0;            // exact workspace; of rotate_many, with its first result
  std::optional<std::size_t> output;  // index into Stage::outputs, where the result is kept
  Place place;                        // of the operation's name
};

/// As documents call it.
std::string_view name(const BodyOperation& operation);
/// Whether the second operand and those after it are plaintexts; every other operand is a ciphertext.
bool takes_plaintexts(const BodyOperation& operation);

/// A result that becomes a managed value where the stage ran.
struct Output {
  std::size_t result = 0;  // index into Stage::body
  ValueIndex value = 0;
  Place place;
  bool checked = true;  // decrypted, and compared with its clear text
};

/// A value that has to be at a location.
struct Requirement {
  ValueIndex value = 0;
  Location at = Location::pageable_host();
  Place place;
};

struct Reservation {
  residency::ReservationSpec spec;
  Place place;
};

/// One line of a manual plan or a Program: an action on a value that has a name and no handle yet.
struct NamedAction {
  enum class Verb { ensure, move, drop };
  Verb verb = Verb::ensure;
  ValueIndex value = 0;
  Location at = Location::pageable_host();  // ensure, drop: the location; move: the destination
  std::optional<Location> from;             // ensure, move
  Place place;
};
/// The same action on the handle that the value got.
residency::Action bind(const NamedAction& action, residency::HandleId handle);
/// The same for a list, with the handles of World::values (by ValueIndex).
std::vector<residency::Action> bind_all(const std::vector<NamedAction>& actions,
                                        std::span<const residency::HandleId> handles);
/// Ensures that return while their copies run (R21).
std::vector<residency::Action> bind_prefetch(const std::vector<NamedAction>& actions,
                                             std::span<const residency::HandleId> handles);
std::vector<residency::ValuePlace> bind_reads(const std::vector<Requirement>& requirements,
                                              std::span<const residency::HandleId> handles);

/// What a manual plan of a stage does besides its reservations and outputs.
struct ManualPlan {
  std::vector<NamedAction> reclaim, enter, prefetch, exit;  // prefetch: ensures, bound as asynchronous ones
  Place place;
};

/// One plan scope with a body, checked: every reference resolved, every type and byte known.
struct Stage {
  Name name;
  std::optional<Location> at;  // where the body runs; absent only without a body
  std::vector<BodyOperation> body;
  std::vector<Output> outputs;       // in the document's order
  std::vector<Requirement> require;  // inputs of the body in order of first use, then those asked for; unique
  std::size_t input_count = 0;       // the first so many of `require` are the body's inputs, all at `at`
  std::vector<Reservation> reserve;  // resolved: also of `auto`
  bool automatic_reserve = true;
  BodyLayout layout;
  std::vector<Operand> release;    // values discarded after the stage
  std::optional<ManualPlan> plan;  // absent: the controller decides
  int key_switch_group = 0;        // output limbs that its key switches work on at a time; 0: all at once
  std::string variant;             // where there was something to choose
};

}  // namespace fheres::workload
