#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <fheres/compile/fit.hpp>

#include "alternatives.hpp"
#include "certificate.hpp"
#include "problem.hpp"

namespace fheres::compile {
namespace {

/// How far the smallest budget is looked for where the sum does not already say it: to a part in so many.
constexpr Bytes kPrecision = 512;
/// To which part of the way from there to where everything fits the end of a sweep is found.
constexpr Bytes kCurve = 64;
/// A bend: from here on a byte of room saves at most this share of what it saved before.
constexpr double kBend = 0.5;

class Fitter {
 public:
  Fitter(const Workload& workload, Location at, const FitOptions& options)
      : workload_(workload), at_(at), options_(options) {
    quick_.node_limit = 0;
    quick_.search_state_limit = options.compile.search_state_limit;
  }

  std::variant<Fit, Unfit> run() {
    const Bytes everything = round_up_to_granule(most());
    Outcome outcome = compiled(everything, quick_);
    if (!std::holds_alternative<Compiled>(outcome)) {
      if (auto* no = std::get_if<Infeasible>(&outcome)) return Unfit{at_, no->reason, std::move(*no)};
      return Unfit{at_, std::get<Inconclusive>(outcome).reason, std::nullopt};
    }
    Fit result;
    result.at = at_;
    const Bytes needed = least(everything, result.reason);
    if (needed > 0) result.proven_too_small = needed - 1;
    result.smallest = smallest(needed, everything, result.reason);
    if (options_.points > 0) sweep(result, std::get<Compiled>(outcome));
    return result;
  }

 private:
  Outcome compiled(Bytes budget, const CompileOptions& how) {
    workload_.world.set_budget(at_, budget);
    return compile(workload_, how);
  }

  /// Room for everything that is ever there at once, if nothing leaves.
  Bytes most() {
    Bytes sum = 0;
    for (const workload::Value& value : workload_.world.values) {
      sum = checked_add(sum, value.spec.storage_bytes);
      if (value.backing) sum = checked_add(sum, workload_.world.values[*value.backing].spec.storage_bytes);
    }
    Bytes reserved = 0;
    for (const workload::Stage& stage : workload_.stages) {
      Bytes here = 0;
      for (const workload::Reservation& item : stage.reserve)
        if (item.spec.at == at_) here = checked_add(here, round_up_to_granule(item.spec.bytes));
      reserved = std::max(reserved, here);
    }
    return checked_add(sum, reserved);
  }

  /// The largest sum that no plan gets around.
  Bytes least(Bytes everything, std::string& reason) {
    workload_.world.set_budget(at_, everything);
    if (!workload_.questions.empty()) return least_of_all(reason);
    const Problem problem = make_problem(workload_);
    const Room& room = problem.rooms[*problem.room_at(at_)];
    std::vector<std::int64_t> stuck(problem.stages + 1, 0);
    for (const Interval& item : problem.intervals) {
      if (problem.rooms[item.room].at != at_ || !item.forced) continue;
      stuck[item.first] += static_cast<std::int64_t>(item.charge);
      stuck[item.last + 1] -= static_cast<std::int64_t>(item.charge);
    }
    Bytes needed = 0;
    for (const workload::Value& value : workload_.world.values)
      if (std::find(value.at.begin(), value.at.end(), at_) != value.at.end())
        needed += value.spec.storage_bytes;
    if (needed > 0) reason = fmt::format("{} starts there", format_exact_bytes(needed));
    std::int64_t sum = 0;
    for (std::size_t s = 0; s < problem.stages; ++s) {
      sum += stuck[s];
      const auto load = static_cast<Bytes>(static_cast<std::int64_t>(everything) - room.free[s] + sum);
      if (load <= needed) continue;
      needed = load;
      reason = fmt::format("stage {} has to have {} there at once", workload_.stages[s].name.text,
                           format_exact_bytes(load));
    }
    return needed;
  }

  /// The same over all variants.
  Bytes least_of_all(std::string& reason) {
    const Alternatives alternatives(workload_);
    const std::size_t room = *make_problem(workload_).room_at(at_);
    Bytes needed = alternatives.least_placed()[room];
    if (needed > 0) reason = fmt::format("{} starts there", format_exact_bytes(needed));
    const std::vector<Bytes> loads = alternatives.least_loads()[room];
    for (std::size_t s = 0; s < loads.size(); ++s) {
      if (loads[s] <= needed) continue;
      needed = loads[s];
      reason = fmt::format("stage {} has to have {} there at once, whichever variants are chosen",
                           workload_.stages[s].name.text, format_exact_bytes(needed));
    }
    return needed;
  }

  Bytes smallest(Bytes needed, Bytes everything, std::string& reason) {
    Bytes low = round_up_to_granule(needed);
    if (feasible(low)) return needed;
    Bytes high = everything;  // feasible
    while (high - low > std::max<Bytes>(kGranule, high / kPrecision)) {
      const Bytes middle = round_up_to_granule(low + (high - low) / 2);
      if (middle >= high) break;
      (feasible(middle) ? high : low) = middle;
    }
    if (low > needed || high > needed)
      reason += fmt::format("; with {} no plan was found, and no proof that there is none",
                            format_exact_bytes(low));
    return high;
  }

  bool feasible(Bytes budget) { return std::holds_alternative<Compiled>(compiled(budget, quick_)); }

  /// A budget from which on more room changes nothing: what a plan without evictions charges, or, where bytes are all
  /// that is asked, one with which as little is moved, so that the points are where the curve is. With a machine more
  /// room still lets transfers come earlier; and with open variants each budget that is tried takes too long.
  Bytes flat_from(Bytes smallest, const workload::Evidence& roomy) {
    Bytes end = smallest;
    for (const workload::PeakEvidence& peak : roomy.peaks)
      if (peak.at == at_) end = std::max(end, peak.bytes);
    if (options_.compile.machine || !workload_.questions.empty()) return end;
    const Bytes step = std::max<Bytes>(kGranule, (end - smallest) / kCurve);
    for (Bytes low = smallest; end - low > step;) {
      const Bytes middle = round_up_to_granule(low + (end - low) / 2);
      if (middle >= end) break;
      const Outcome outcome = compiled(middle, quick_);
      const auto* made = std::get_if<Compiled>(&outcome);
      const bool flat = made != nullptr && made->program.evidence->moved_bytes <= roomy.moved_bytes;
      (flat ? end : low) = middle;
    }
    return end;
  }

  /// `roomy`: with room for everything.
  void sweep(Fit& result, const Compiled& roomy) {
    const Bytes end = flat_from(result.smallest, *roomy.program.evidence);
    const std::size_t steps = std::max<std::size_t>(options_.points, 2) - 1;
    for (std::size_t i = 0; i <= steps; ++i) {
      const Bytes budget = i == 0
                               ? result.smallest
                               : round_up_to_granule(result.smallest + (end - result.smallest) / steps * i +
                                                     (end - result.smallest) % steps * i / steps);
      if (!result.sweep.empty() && budget <= result.sweep.back().budget) continue;
      const Outcome outcome = compiled(budget, options_.compile);
      const auto* made = std::get_if<Compiled>(&outcome);
      if (made == nullptr) continue;  // a plan that the quick way found may be lost only to a search's limit
      const workload::Evidence& evidence = *made->program.evidence;
      FitPoint point{budget, evidence.moved_bytes, evidence.lower_bound_bytes, {}, false};
      if (evidence.time) point.predicted_ns = evidence.time->predicted_ns;
      // A plan for less room serves as well.
      if (!result.sweep.empty() && result.sweep.back().moved_bytes < point.moved_bytes) {
        point.moved_bytes = result.sweep.back().moved_bytes;
        point.predicted_ns = result.sweep.back().predicted_ns;
      }
      result.sweep.push_back(point);
    }
    // What has to move with more room has to move with less.
    for (std::size_t i = result.sweep.size(); i-- > 1;)
      result.sweep[i - 1].lower_bound_bytes =
          std::max(result.sweep[i - 1].lower_bound_bytes, result.sweep[i].lower_bound_bytes);
    mark_bends(result.sweep);
  }

  static void mark_bends(std::vector<FitPoint>& sweep) {
    const auto saved = [&](std::size_t i) {  // bytes moved less for a byte of room, from point i to the next
      return static_cast<double>(sweep[i].moved_bytes - sweep[i + 1].moved_bytes) /
             static_cast<double>(sweep[i + 1].budget - sweep[i].budget);
    };
    for (std::size_t i = 1; i + 1 < sweep.size(); ++i) {
      const double before = saved(i - 1);
      sweep[i].bend = before > 0 && saved(i) <= kBend * before;
    }
    if (sweep.size() > 1) sweep.back().bend = saved(sweep.size() - 2) > 0;
  }

  Workload workload_;
  Location at_;
  FitOptions options_;
  CompileOptions quick_;
};

}  // namespace

std::variant<Fit, Unfit> fit(const workload::Workload& workload, Location at, const FitOptions& options) {
  return Fitter(workload, at, options).run();
}

std::vector<Location> device_locations(const workload::Workload& workload) {
  std::set<Location> found;
  for (const workload::LocationEntry& entry : workload.world.locations)
    if (entry.at.is_cuda()) found.insert(entry.at);
  for (const workload::Stage& stage : workload.stages) {
    if (stage.at && stage.at->is_cuda()) found.insert(*stage.at);
    for (const workload::Requirement& item : stage.require)
      if (item.at.is_cuda()) found.insert(item.at);
  }
  return {found.begin(), found.end()};
}

}  // namespace fheres::compile
