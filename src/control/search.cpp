#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/control/search.hpp>

#include "certificate.hpp"
#include "cheapest.hpp"
#include "conflict.hpp"
#include "exhaustive.hpp"
#include "greedy.hpp"
#include "prune.hpp"

namespace fheres::control {
namespace {

using residency::Recoverability;
using residency::State;
using residency::ValueRecord;

std::vector<Conflict> in_words(const Problem& problem, const std::vector<Member>& members) {
  std::vector<Conflict> words;
  for (const Member& member : members) words.push_back(in_words(problem, member));
  return words;
}

Infeasible explain_certificate(const Problem& problem, Certificate found, const DecideOptions& options) {
  Infeasible answer{.request = problem.request.name, .reason = {}, .at = found.at};
  if (found.entangled && found.members.size() > 1) {
    // Fewer of these may conflict for another reason than the sum.
    Shrunk shrunk = shrink_by_search(problem, std::move(found.members), options.search_state_limit,
                                     answer.explored_states);
    found.members = std::move(shrunk.members);
    answer.irreducible = shrunk.irreducible;
  }
  answer.conflict = in_words(problem, found.members);
  const std::string& name = problem.request.name;
  if (found.blocked != nullptr) {
    answer.reason =
        fmt::format("request `{}` cannot be served: {}, {}", name, list(answer.conflict), found.blocked);
    return answer;
  }
  answer.holders = in_words(problem, immovable_at(problem, found.at));
  answer.budget = found.budget;
  answer.short_by = found.needed - found.budget;
  std::string where;
  for (const Location at : found.closed) where += (where.empty() ? "" : " and ") + at.name();
  answer.reason = fmt::format(
      "request `{}` cannot be served: {} must be charged at {} at once{}, of a budget of {}: "
      "{} short; in conflict: {}",
      name, format_exact_bytes(found.needed), where,
      found.load ? " while " + in_words(problem, *found.load).name + " is loaded" : "",
      format_exact_bytes(found.budget), format_exact_bytes(*answer.short_by), list(answer.conflict));
  return answer;
}

Infeasible explain_exhaustion(const Problem& problem, Location at, std::uint64_t explored,
                              const DecideOptions& options) {
  Infeasible answer{.request = problem.request.name, .reason = {}, .at = at};
  answer.budget = budget_of(problem.state, at);
  std::uint64_t shrinking = 0;
  Shrunk shrunk = shrink_by_search(problem, all_members(problem), options.search_state_limit, shrinking);
  answer.conflict = in_words(problem, shrunk.members);
  answer.irreducible = shrunk.irreducible;
  answer.holders = in_words(problem, immovable_at(problem, at));
  answer.explored_states = explored;
  answer.reason = fmt::format(
      "request `{}` cannot be served: no order of evictions and placements leads there, "
      "all {} states tried; in conflict: {}",
      problem.request.name, explored, list(answer.conflict));
  return answer;
}

// Where a value's replicas are after the first `count` steps.
std::vector<Location> places_after(const Problem& problem, const std::vector<Step>& steps, std::size_t count,
                                   HandleId value) {
  const ValueRecord& record = problem.state.record(value);
  std::vector<Location> places;
  for (const residency::Materialization& there : record.materializations) places.push_back(there.at);
  const auto add = [&](Location at) {
    const auto next = std::lower_bound(places.begin(), places.end(), at);
    if (next == places.end() || *next != at) places.insert(next, at);
  };
  for (std::size_t i = 0; i < count; ++i) {
    const Step& step = steps[i];
    if (step.kind == Step::Kind::reserve || step.value != value) continue;
    if (step.kind == Step::Kind::place) {
      if (record.spec->replica_mode == residency::ReplicaMode::exclusive) places.clear();
      add(step.at);
    } else {
      std::erase(places, step.at);
      if (step.to) add(*step.to);
    }
  }
  return places;
}

Eviction eviction_of(const Problem& problem, const std::vector<Step>& steps, std::size_t index,
                     bool first_touch) {
  const Step& step = steps[index];
  const ValueRecord& record = problem.state.record(step.value);
  const Metadata& known = problem.metadata.of(step.value);
  Eviction told{.action = step.to ? residency::Action{residency::Move{step.value, *step.to, step.at}}
                                  : residency::Action{residency::Drop{step.value, step.at}},
                .released = step.at,
                .bytes = record.spec->storage_bytes,
                .spec = record.spec,
                .remains = {},
                .source = record.source,
                .priority = known.priority,
                .access_epoch = known.access_epoch};
  if (first_touch) {
    for (const residency::Materialization& there : record.materializations) {
      if (there.at != step.at) told.remains.push_back(there.at);
    }
    if (step.to)
      told.remains.insert(std::lower_bound(told.remains.begin(), told.remains.end(), *step.to), *step.to);
  } else {
    told.remains = places_after(problem, steps, index + 1, step.value);
  }
  told.why = step.to                ? Eviction::Why::offloaded
             : told.remains.empty() ? Eviction::Why::reconstructible
                                    : Eviction::Why::spare;
  if (problem.requested(step.value)) {
    told.restored = problem.required(step.value, step.at);
    told.requested_elsewhere = problem.times_required(step.value) > (told.restored ? 1u : 0u);
  }
  return told;
}

// The plan of the steps. Endpoints that are there already are named too, so that the plan says all that it needs.
Decision decision_of(const Problem& problem, const std::vector<Step>& steps, const DecideOptions& options) {
  Decision decision{.request = problem.request.name,
                    .plan = {},
                    .evictions = {},
                    .policy = problem.policy.identity(),
                    .explanation = {},
                    .expected_version = problem.state.version(),
                    .manager = problem.state.manager()};
  residency::Plan& plan = decision.plan;
  plan.name = problem.request.name;
  plan.reservations = problem.request.reserve;
  std::vector<char> touched(problem.state.records().size(), 0);
  bool reserved = false;
  const auto evicts = std::count_if(steps.begin(), steps.end(),
                                    [](const Step& step) { return step.kind == Step::Kind::evict; });
  decision.evictions.reserve(static_cast<std::size_t>(evicts));
  plan.reclaim.reserve(static_cast<std::size_t>(evicts));
  plan.enter.reserve(problem.request.require.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    switch (step.kind) {
      case Step::Kind::reserve:
        reserved = true;
        break;
      case Step::Kind::evict:
        decision.evictions.push_back(eviction_of(problem, steps, i, touched[step.value.serial] == 0));
        decision.evictions.back().rank = decision.evictions.size() - 1;
        (reserved ? plan.enter : plan.reclaim).push_back(decision.evictions.back().action);
        break;
      case Step::Kind::place: {
        const ValueRecord& record = problem.state.record(step.value);
        // An exclusive value moves from wherever it is, unless it is there, or nowhere yet.
        const bool moves = record.spec->replica_mode == residency::ReplicaMode::exclusive && [&] {
          const std::vector<Location> now = places_after(problem, steps, i, step.value);
          return !now.empty() && now.front() != step.at;
        }();
        plan.enter.push_back(moves ? residency::Action{residency::Move{step.value, step.at, std::nullopt}}
                                   : residency::Action{residency::Ensure{step.value, step.at, std::nullopt}});
        break;
      }
    }
    if (step.kind != Step::Kind::reserve) touched[step.value.serial] = 1;
  }
  decision.explanation = residency::explain(problem.state, plan, options.detail);
  FHERES_CHECK(decision.explanation.feasible);
  decision.bytes_moved = decision.explanation.moved_bytes();
  return decision;
}

// What can leave first leaves first, then the plan is a reclaim, and an enter that is nothing but placements; and
// nothing leaves in vain.
void tidy(const Problem& problem, Way& way) {
  if (drops_only(problem, way.steps)) {
    put_drops_first(problem, way);
  } else {
    Run early(problem);
    if (early.take_all(evictions_first(way.steps)) && early.served()) way = early.take_way();
  }
  prune(problem, way);
}

// A way to serve the request, or why there is none.
std::variant<Way, Infeasible, Inconclusive> find_way(const Problem& problem, const DecideOptions& options,
                                                     std::uint64_t& explored) {
  if (auto found = certify_infeasible(problem))
    return explain_certificate(problem, std::move(*found), options);

  Run run(problem);
  std::optional<Location> lacking;
  if (greedy(problem, run, explored, lacking)) {
    Way way = run.take_way();
    tidy(problem, way);
    return way;
  }
  run = Run(problem);
  std::uint64_t opened = 0;
  const Verdict verdict = search_exhaustively(problem, run, options.search_state_limit, opened);
  if (verdict == Verdict::impossible)
    return explain_exhaustion(problem, lacking.value_or(problem.request.require.front().at), opened, options);
  if (verdict == Verdict::limit_reached) {
    return Inconclusive{
        .request = problem.request.name,
        .limit = options.search_state_limit,
        .explored_states = opened,
        .detail = fmt::format("neither a plan nor a proof that there is none; room was first lacking at {}",
                              lacking ? lacking->name() : "no location")};
  }
  explored += opened;
  Way way = run.take_way();
  tidy(problem, way);
  // What an earlier tier takes may have made another eviction needless.
  while (prefer_earlier_tiers(problem, way)) prune(problem, way);
  return way;
}

}  // namespace

Outcome decide(const State& state, const Request& request, const Policy& policy,
               const ValueMetadata& metadata, const DecideOptions& options) {
  check_request(request, state);
  const Problem problem(state, request, policy, metadata);
  std::uint64_t explored = 0;
  auto found = find_way(problem, options, explored);
  if (auto* infeasible = std::get_if<Infeasible>(&found)) return std::move(*infeasible);
  if (auto* inconclusive = std::get_if<Inconclusive>(&found)) return std::move(*inconclusive);

  Decision decision = decision_of(problem, std::get<Way>(found).steps, options);
  decision.least_bytes = decision.bytes_moved == least_bytes(problem);
  if (options.objective == Objective::bytes && !decision.least_bytes) {
    if (std::optional<Way> way = search_cheapest(problem, options.search_state_limit, explored)) {
      tidy(problem, *way);
      Decision cheapest = decision_of(problem, way->steps, options);
      // Among equals the one that follows policy order.
      if (cheapest.bytes_moved < decision.bytes_moved) decision = std::move(cheapest);
      decision.least_bytes = true;
    }
  }
  decision.explored_states = explored;
  return decision;
}

}  // namespace fheres::control
