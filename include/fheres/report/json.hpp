#pragma once

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include <fheres/control/decision.hpp>
#include <fheres/residency/explain.hpp>
#include <fheres/residency/snapshot.hpp>
#include <fheres/residency/trace.hpp>

namespace fheres::report {

/// Keys keep the order in which they were written, so equal inputs give equal bytes.
using Json = nlohmann::ordered_json;

/// The user's name of a value.
using NameOf = std::function<std::string(residency::HandleId)>;

// Sizes are in bytes, times in ns. Nothing here varies between runs of one document but what stands under `timing`
// and `observed`. Absent optionals are null.
Json to_json(const residency::Action& action, const NameOf& names);
Json to_json(const residency::ReservationSpec& spec);
Json to_json(const residency::Plan& plan, const NameOf& names);
Json to_json(const residency::Explanation& explanation, const NameOf& names);
/// Without its actions and reservations.
Json prediction_json(const residency::Explanation& explanation);
Json to_json(const residency::TransitionReport& transition, const NameOf& names);
/// Without its peaks.
Json to_json(const residency::PlanReport& report, const NameOf& names);
/// With an empty list of values.
Json to_json(const residency::Snapshot& snapshot);
Json to_json(const residency::ValueSnapshot& value, const residency::Snapshot& snapshot);
Json to_json(const control::Decision& decision, const NameOf& names);
/// Without its plan and explanation.
Json choice_json(const control::Decision& decision, const NameOf& names);
Json to_json(const control::Infeasible& infeasible);
Json to_json(const control::Inconclusive& inconclusive);

/// Two spaces of indentation, a newline at the end; invalid UTF-8 is replaced, never thrown on.
std::string render(const Json& json);

}  // namespace fheres::report
