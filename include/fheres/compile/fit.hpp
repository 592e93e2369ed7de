#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <fheres/compile/compile.hpp>

namespace fheres::compile {

struct FitOptions {
  CompileOptions compile{};
  /// Budgets of a sweep, from the smallest that was found feasible to where more room stops to help; 0: no sweep. With a
  /// machine or open variants to where everything fits.
  std::size_t points = 0;
};

/// What a plan moves under one budget of the location.
struct FitPoint {
  Bytes budget = 0;
  Bytes moved_bytes = 0;
  Bytes lower_bound_bytes = 0;
  std::optional<std::uint64_t> predicted_ns;  // with a machine
  /// More room helps much less from here on than it did before.
  bool bend = false;
};

/// How much room one location needs, all other budgets as they are.
struct Fit {
  Location at = Location::pageable_host();
  Bytes smallest = 0;                     // for which a plan was found; whole granules
  std::optional<Bytes> proven_too_small;  // the largest; absent: 0 is enough
  /// Why no less was tried or found: what the stage with the largest sum needs, or what failed just below.
  std::string reason;
  std::vector<FitPoint> sweep;  // by budget, rising

  /// Whether nothing lies between what is proven too small and what a plan was found for.
  bool closed() const { return smallest == (proven_too_small ? *proven_too_small + 1 : 0); }
};

/// No budget of this location helps: another location, or what starts at this one, is in the way.
struct Unfit {
  Location at = Location::pageable_host();
  std::string reason;
  std::optional<Infeasible> infeasible;  // with its proof where there is one
};

/// The smallest budget of `at` for which a plan is found, and the largest that a sum proves too small. Feasibility by bytes
/// is monotone in the budget. Deterministic.
std::variant<Fit, Unfit> fit(const workload::Workload& workload, Location at, const FitOptions& options = {});

/// The device locations that a workload works at, in location order: what `fit` is asked about by default.
std::vector<Location> device_locations(const workload::Workload& workload);

}  // namespace fheres::compile
