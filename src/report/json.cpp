#include <fheres/report/json.hpp>

namespace fheres::report {
namespace {

using residency::Location;

template <class T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json name_or_null(const std::optional<Location>& at) { return at ? Json(at->name()) : Json(nullptr); }

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

template <class Range, class Function>
Json array_of(const Range& range, const Function& make) {
  Json array = Json::array();
  for (const auto& item : range) array.push_back(make(item));
  return array;
}

Json to_json(const residency::Protection& counts) {
  return {{"use", counts.use}, {"hold", counts.hold}, {"pending", counts.pending}};
}

Json to_json(const residency::Holder& holder) {
  Json json = {
      {"name", holder.name}, {"kind", holder.value ? "value" : "reservation"}, {"bytes", holder.charged}};
  if (holder.protection.any()) json["protection"] = to_json(holder.protection);
  return json;
}

const char* work_name(residency::Transition::Work work) {
  using Work = residency::Transition::Work;
  switch (work) {
    case Work::nothing:
      return "nothing";
    case Work::copy:
      return "copy";
    case Work::load:
      return "load";
    case Work::expand:
      return "expand";
    case Work::remove:
      return "remove";
  }
  return "";
}

const char* why_name(control::Eviction::Why why) {
  switch (why) {
    case control::Eviction::Why::spare:
      return "spare-replica";
    case control::Eviction::Why::reconstructible:
      return "reconstructible";
    case control::Eviction::Why::offloaded:
      return "offloaded";
  }
  return "";
}

const char* kind_name(control::Conflict::Kind kind) {
  switch (kind) {
    case control::Conflict::Kind::requirement:
      return "requirement";
    case control::Conflict::Kind::reservation:
      return "reservation";
    case control::Conflict::Kind::reserved:
      return "reserved";
    case control::Conflict::Kind::in_use:
      return "in-use";
    case control::Conflict::Kind::staged:
      return "staged";
    case control::Conflict::Kind::only_copy:
      return "only-copy";
  }
  return "";
}

Json to_json(const control::Conflict& conflict) {
  return {{"kind", kind_name(conflict.kind)},
          {"name", conflict.name},
          {"at", conflict.at.name()},
          {"bytes", conflict.bytes},
          {"text", conflict.text()}};
}

}  // namespace

Json to_json(const residency::Action& action, const NameOf& names) {
  Json json = {{residency::verb_of(action), names(residency::value_of(action))}};
  if (const auto* ensure = std::get_if<residency::Ensure>(&action)) {
    json["at"] = ensure->at.name();
    if (ensure->from) json["from"] = ensure->from->name();
    if (ensure->asynchronous) json["asynchronous"] = true;
  } else if (const auto* move = std::get_if<residency::Move>(&action)) {
    json["to"] = move->to.name();
    if (move->from) json["from"] = move->from->name();
  } else if (const auto* drop = std::get_if<residency::Drop>(&action)) {
    json["at"] = drop->at.name();
  }
  return json;
}

Json to_json(const residency::ReservationSpec& spec) {
  return {{"at", spec.at.name()}, {"bytes", spec.bytes}, {"label", spec.label}};
}

Json to_json(const residency::Plan& plan, const NameOf& names) {
  const auto actions = [&](const std::vector<residency::Action>& list) {
    return array_of(list, [&](const auto& action) { return to_json(action, names); });
  };
  return {{"name", plan.name},
          {"reclaim", actions(plan.reclaim)},
          {"reserve", array_of(plan.reservations, [](const auto& spec) { return to_json(spec); })},
          {"enter", actions(plan.enter)},
          {"prefetch", actions(plan.prefetch)},
          {"exit", actions(plan.exit)}};
}

namespace {

// Only where there is one (R66).
void add_expansion(Json& json, const std::optional<residency::HandleId>& from, Bytes temporary,
                   const NameOf& names) {
  if (!from) return;
  json["expanded_from"] = names(*from);
  json["temporary_bytes"] = temporary;
}

}  // namespace

Json prediction_json(const residency::Explanation& explanation) {
  Json locations = array_of(explanation.locations, [](const residency::LocationExplanation& location) {
    Json json{{"at", location.at.name()},
              {"budget", optional_json(location.budget)},
              {"charged_before", location.charged_before},
              {"peak_charged", location.peak_charged},
              {"charged_after", location.charged_after},
              {"compacted", location.compacted},
              {"holders", array_of(location.holders, [](const auto& holder) { return to_json(holder); })}};
    if (location.more_holders != 0)
      json["more_holders"] = {{"count", location.more_holders}, {"bytes", location.more_bytes}};
    return json;
  });
  return {{"plan", explanation.plan},
          {"feasible", explanation.feasible},
          {"reason", text_or_null(explanation.reason)},
          {"moved_bytes", explanation.moved_bytes()},
          {"compacted_bytes", explanation.compacted_bytes()},
          {"locations", std::move(locations)}};
}

Json to_json(const residency::Explanation& explanation, const NameOf& names) {
  Json actions = array_of(explanation.actions, [&](const residency::ActionExplanation& action) {
    Json json{{"phase", residency::name(action.phase)},
              {"index", action.index},
              {"action", to_json(action.action, names)},
              {"executable", action.executable},
              {"no_op", action.no_op},
              {"asynchronous", action.asynchronous},
              {"settles", action.settles},
              {"staged_bytes", action.staged_bytes},
              {"source", name_or_null(action.source)},
              {"destination", name_or_null(action.destination)},
              {"bytes", action.bytes},
              {"compacted", action.compacted},
              {"reason", text_or_null(action.reason)}};
    add_expansion(json, action.expanded_from, action.temporary_bytes, names);
    return json;
  });
  Json reservations = array_of(explanation.reservations, [](const residency::ReservationExplanation& item) {
    Json json = to_json(item.spec);
    json["executable"] = item.executable;
    json["reason"] = text_or_null(item.reason);
    return json;
  });
  Json json = prediction_json(explanation);
  Json locations = std::move(json["locations"]);
  json.erase("locations");
  json["actions"] = std::move(actions);
  json["reservations"] = std::move(reservations);
  json["locations"] = std::move(locations);
  return json;
}

Json to_json(const residency::TransitionReport& transition, const NameOf& names) {
  Json json = {{"action", to_json(transition.action, names)},
               {"work", work_name(transition.work)},
               {"no_op_reason", text_or_null(transition.no_op_reason)},
               {"source", name_or_null(transition.source)},
               {"destination", name_or_null(transition.destination)},
               {"bytes", transition.bytes},
               {"compacted", transition.compacted},
               {"asynchronous", transition.asynchronous},
               {"timing",
                {{"start_ns", transition.start_ns},
                 {"end_ns", transition.end_ns},
                 {"queued_ns", transition.queued_ns},
                 {"arriving", transition.arriving},
                 {"stall_ns", transition.stall_ns},
                 {"device_waits", transition.device_waits}}}};
  add_expansion(json, transition.expanded_from, transition.temporary_bytes, names);
  return json;
}

Json to_json(const residency::PlanReport& report, const NameOf& names) {
  return {{"plan", report.plan},
          {"transitions",
           array_of(report.actions,
                    [&](const residency::ActionReport& action) {
                      Json json = {{"phase", residency::name(action.phase)}, {"index", action.index}};
                      json.update(to_json(action.transition, names));
                      return json;
                    })},
          {"reservations", array_of(report.reservations, [](const auto& spec) { return to_json(spec); })},
          {"timing", {{"start_ns", report.start_ns}, {"end_ns", report.end_ns}}}};
}

Json to_json(const residency::ValueSnapshot& value, const residency::Snapshot& snapshot) {
  Json json{
      {"name", value.spec->name},
      {"type", value.spec->type},
      {"discarded", value.discarded},
      {"source", name_or_null(value.source)},
      {"materializations", array_of(value.materializations, [](const auto& materialization) {
         Json place{{"at", materialization.at.name()},
                    {"logical", materialization.logical_bytes},
                    {"actual", materialization.actual_bytes},
                    {"charged", materialization.charged_bytes},
                    {"protection", to_json(materialization.protection)},
                    {"arriving", materialization.arriving}};
         if (const auto& expansion = materialization.expansion)
           place["expansion"] = {{"read_at", expansion->read_at.name()}, {"temporary", expansion->temporary}};
         return place;
       })}};
  if (value.backing) json["backing"] = snapshot.values.at(value.backing->serial).spec->name;
  return json;
}

Json to_json(const residency::Snapshot& snapshot) {
  Json locations = array_of(snapshot.locations, [](const residency::LocationSnapshot& location) {
    const residency::Account& account = location.account;
    Json json = {{"at", account.at.name()},
                 {"budget", optional_json(account.budget)},
                 {"remaining", optional_json(account.remaining())},
                 {"used", account.used},
                 {"reserved", account.reserved},
                 {"peak_used", account.peak_used},
                 {"peak_charged", account.peak_charged},
                 {"allocated", location.allocated},
                 {"peak_allocated", location.peak_allocated},
                 {"largest_free", location.largest_free},
                 {"compacted", location.compacted},
                 {"materializations", location.materializations}};
    if (location.device) {
      json["observed"] = {{"device_free", location.device->free}, {"device_total", location.device->total}};
    }
    return json;
  });
  return {{"values", Json::array()},
          {"locations", std::move(locations)},
          {"reservations",
           array_of(snapshot.reservations, [](const auto& record) { return to_json(record.spec); })}};
}

Json choice_json(const control::Decision& decision, const NameOf& names) {
  return {{"request", decision.request},
          {"policy", decision.policy},
          {"explored_states", decision.explored_states},
          {"expected_version", decision.expected_version},
          {"moved_bytes", decision.bytes_moved},
          {"least_bytes", decision.least_bytes},
          {"evictions", array_of(decision.evictions, [&](const control::Eviction& eviction) {
             return Json{{"rank", eviction.rank},
                         {"action", to_json(eviction.action, names)},
                         {"released", {{"at", eviction.released.name()}, {"bytes", eviction.bytes}}},
                         {"why", why_name(eviction.why)},
                         {"reason", eviction.reason()}};
           })}};
}

Json to_json(const control::Decision& decision, const NameOf& names) {
  Json json = choice_json(decision, names);
  json["plan"] = to_json(decision.plan, names);
  json["explanation"] = to_json(decision.explanation, names);
  return json;
}

Json to_json(const control::Infeasible& infeasible) {
  return {{"request", infeasible.request},
          {"feasible", false},
          {"reason", infeasible.reason},
          {"at", infeasible.at.name()},
          {"budget", optional_json(infeasible.budget)},
          {"short_by", optional_json(infeasible.short_by)},
          {"conflict", array_of(infeasible.conflict, [](const auto& item) { return to_json(item); })},
          {"irreducible", infeasible.irreducible},
          {"holders", array_of(infeasible.holders, [](const auto& item) { return to_json(item); })},
          {"explored_states", infeasible.explored_states}};
}

Json to_json(const control::Inconclusive& inconclusive) {
  return {{"request", inconclusive.request},
          {"limit", inconclusive.limit},
          {"explored_states", inconclusive.explored_states},
          {"detail", inconclusive.detail}};
}

std::string render(const Json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace fheres::report
