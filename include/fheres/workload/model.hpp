#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fheres/control/search.hpp>
#include <fheres/residency/copy_rules.hpp>
#include <fheres/scheme/parameters.hpp>
#include <fheres/workload/machine.hpp>
#include <fheres/workload/question.hpp>
#include <fheres/workload/stage.hpp>
#include <fheres/workload/value.hpp>

namespace fheres::workload {

struct Metadata {
  Name name;
  std::string description;
};

/// A location that the document names. Without a budget it is unbounded.
struct LocationEntry {
  Location at = Location::pageable_host();
  std::optional<Bytes> budget;
  Place place;
};

/// The document's policy: where displaced values may go.
struct PolicyEntry {
  std::map<Location, std::vector<Location>> fallback;
  std::optional<std::uint64_t> search_state_limit;
  std::optional<control::Objective>
      objective;  // of each decision; the first plan in policy order where absent
  /// The given options with what the document says of its own in their place.
  control::DecideOptions applied_to(control::DecideOptions options) const;
};

/// What stages and requests work on.
struct World {
  std::optional<scheme::Parameters> parameters;  // absent only when every value is opaque bytes
  std::vector<LocationEntry> locations;          // in location order
  PolicyEntry policy;
  /// Declared ones in the document's order, then the seeded halves of keys in that order, then outputs by stage.
  std::vector<Value> values;
  /// Devices that the document says copy to each other directly, each pair once (R64). The others' copies are staged.
  std::vector<std::pair<Location, Location>> peers{};
  std::shared_ptr<const Machine> machine{};  // null where the document says nothing of times

  std::map<Location, Bytes> budgets() const;
  residency::CopyRules copies() const;
  /// Sets a location's budget, adding the location where the document does not name it.
  void set_budget(Location at, Bytes budget);
  std::optional<ValueIndex> find(std::string_view name) const;
  /// The order in which values come to a manager: what another is expanded from before that one.
  std::vector<ValueIndex> placement_order() const;
};

/// What an output should hold, said in so many words, beside the clear-text shadow.
struct Expectation {
  ValueIndex value = 0;  // of an output
  Message message;
  std::optional<std::uint64_t> slots;  // only so many of the first slots; absent: all
  std::optional<double> tolerance;     // absent: that of all checks
  Place place;
};

struct Checks {
  double tolerance = 1e-5;  // of the largest error of an output against the clear-text shadow
  std::vector<Expectation> expect{};
};

/// A checked workload: what a document of kind Workload says, with every reference resolved, every level, scale and
/// byte known, and the place of each name kept. Holds no storage. A plain value.
struct Workload {
  Metadata metadata;
  World world;
  std::vector<Stage> stages;
  Checks checks;
  std::optional<std::uint64_t> seed;  // for reproducible keys and encryptions; reports say so
  /// What the document leaves to the compiler: the declared values' in their order, then the stages'. Everything above
  /// stands for one variant of each: the first, or what `select` was asked for.
  std::vector<Question> questions{};
  std::shared_ptr<const OpenDraft> open{};  // what the variants are made from; null without questions
};

/// One request of a document of kind Request.
struct RequestEntry {
  Name name;
  std::vector<Requirement> require;
  std::vector<Reservation> reserve;
};

/// A checked document of kind Request: requests that are decided in order,
/// each from the state that the one before leaves.
struct RequestSet {
  Metadata metadata;
  World world;
  std::vector<Stage> before{};  // stages of the world's workload that have run first
  std::vector<RequestEntry> requests;
};

}  // namespace fheres::workload
