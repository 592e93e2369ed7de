#include "alternatives.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

#include <fheres/base/check.hpp>

#include "bound.hpp"
#include "certificate.hpp"
#include "relaxation.hpp"
#include "volume.hpp"

namespace fheres::compile {
namespace {

using workload::Question;

/// Beyond so many rows and columns the joint relaxation takes too long.
constexpr std::size_t kLargestJoint = 60'000;
constexpr int kSteps = 400;  // of the volume algorithm, where there is no solver

/// Before each stage: the sum of the prices of the stages before it.
std::vector<std::vector<Wide>> running_sums(const Prices& prices) {
  std::vector<std::vector<Wide>> sums;
  for (const auto& room : prices) {
    std::vector<Wide>& sum = sums.emplace_back(room.size() + 1, 0);
    for (std::size_t s = 0; s < room.size(); ++s) sum[s + 1] = sum[s] + room[s];
  }
  return sums;
}

/// What a lane's intervals cost at least, kept or gone.
Wide of_lane(const Problem& problem, const Lane& lane, const std::vector<std::vector<Wide>>& sums) {
  Wide kept = 0, gain = 0;
  for (const std::size_t i : lane.intervals) {
    const Interval& item = problem.intervals[i];
    const Wide room =
        (sums[item.room][item.last + 1] - sums[item.room][item.first]) * static_cast<Wide>(item.least_charge);
    kept += room;
    if (!item.forced) gain += std::min<Wide>(0, static_cast<Wide>(item.cost) * Bound::kOne - room);
  }
  return kept + std::min<Wide>(0, gain + static_cast<Wide>(lane.offload) * Bound::kOne);
}

}  // namespace

Prices prices_of(const Problem& problem) {
  Prices prices(problem.rooms.size(), std::vector<std::int64_t>(problem.stages, 0));
  const Bound bound(problem);
  if (bound.rows().empty()) return prices;
  std::vector<std::int64_t> found;
  if (Relaxation::available()) {
    Relaxation relaxation(problem, bound);
    relaxation.solve();
    found = relaxation.prices();
  } else {
    const double target = static_cast<double>(std::numeric_limits<Bytes>::max());
    found = volume(bound, std::vector<std::int64_t>(bound.rows().size(), 0), target, kSteps).prices;
  }
  for (std::size_t r = 0; r < found.size(); ++r)
    prices[bound.rows()[r].room][bound.rows()[r].stage] = std::max<std::int64_t>(found[r], 0);
  return prices;
}

Alternatives::Alternatives(const Workload& workload) : workload_(workload) {
  std::size_t most = 1;
  for (const Question& question : questions()) most = std::max(most, question.variants.size());
  for (std::size_t k = 0; k < most; ++k) {
    Selection selection;
    for (const Question& question : questions())
      selection.push_back(std::min(k, question.variants.size() - 1));
    Version version{with(selection), {}, std::vector<std::vector<std::size_t>>(questions().size())};
    version.problem = make_problem(version.workload);
    for (std::size_t lane = 0; lane < version.problem.lanes.size(); ++lane)
      if (const auto q = version.workload.world.values[version.problem.lanes[lane].value].question)
        version.lanes[*q].push_back(lane);
    unit_ = k == 0 ? version.problem.unit : std::gcd(unit_, version.problem.unit);
    versions_.push_back(std::move(version));
  }
  std::unordered_map<std::string_view, std::size_t> stages;
  for (std::size_t s = 0; s < workload_.stages.size(); ++s) stages.emplace(workload_.stages[s].name.text, s);
  for (const Question& question : questions())
    stage_of_.push_back(question.about == Question::About::stage ? stages.at(question.name.text) : 0);
  for (std::size_t q = 0; q < questions().size(); ++q) {
    std::vector<Loads>& by_variant = loads_.emplace_back();
    for (std::size_t k = 0; k < variants(q); ++k) by_variant.push_back(loads(versions_[k], q));
  }
  place_loads();
}

void Alternatives::place_loads() {
  const std::size_t rooms = first().rooms.size();
  for (std::size_t q = 0; q < questions().size(); ++q) {
    std::vector<Bytes>& sums = placed_.emplace_back(variants(q) * rooms, 0);
    for (std::size_t k = 0; k < variants(q); ++k)
      for (const workload::Value& value : versions_[k].workload.world.values)
        if (value.question == q)
          for (const Location at : value.at)
            if (const auto room = first().room_at(at)) sums[k * rooms + *room] += value.spec.storage_bytes;
  }
}

Alternatives::Loads Alternatives::loads(const Version& version, std::size_t question) const {
  Loads sums;
  const Problem& problem = version.problem;
  if (questions()[question].about == Question::About::stage) {
    const std::size_t s = stage_of_[question];
    for (const workload::Reservation& item : version.workload.stages[s].reserve)
      if (const auto room = problem.room_at(item.spec.at))
        sums[{*room, s}] += round_up_to_granule(item.spec.bytes);
    return sums;
  }
  for (const std::size_t l : version.lanes[question]) {
    const Lane& lane = problem.lanes[l];
    const auto room = problem.room_at(lane.at);
    if (!room) continue;
    for (const std::size_t s : lane.uses)
      sums[{*room, s}] += version.workload.world.values[lane.value].spec.storage_bytes;
    for (const std::size_t i : lane.intervals) {
      const Interval& item = problem.intervals[i];
      for (std::size_t s = item.first; item.forced && s <= item.last; ++s) sums[{*room, s}] += item.charge;
    }
  }
  return sums;
}

Wide Alternatives::term(const Version& version, std::size_t question,
                        const std::vector<std::vector<Wide>>& sums) const {
  const Problem& problem = version.problem;
  const auto price = [&](std::size_t room, std::size_t s) { return sums[room][s + 1] - sums[room][s]; };
  Wide sum = 0;
  if (questions()[question].about == Question::About::stage) {
    const std::size_t s = stage_of_[question];
    for (const workload::Reservation& item : version.workload.stages[s].reserve)
      if (const auto room = problem.room_at(item.spec.at))
        sum += price(*room, s) * static_cast<Wide>(round_up_to_granule(item.spec.bytes));
    return sum;
  }
  for (const std::size_t l : version.lanes[question]) {
    const Lane& lane = problem.lanes[l];
    sum += static_cast<Wide>(lane.compulsory) * Bound::kOne + of_lane(problem, lane, sums);
    const auto room = problem.room_at(lane.at);
    if (!room) continue;
    for (const std::size_t s : lane.uses)
      sum +=
          price(*room, s) * static_cast<Wide>(version.workload.world.values[lane.value].spec.storage_bytes);
  }
  return sum;
}

Alternatives::Priced Alternatives::priced(const Prices& prices) const {
  const std::vector<std::vector<Wide>> sums = running_sums(prices);
  Priced result;
  const Problem& problem = first();
  result.rest = static_cast<Wide>(problem.compulsory) * Bound::kOne;
  for (std::size_t r = 0; r < problem.rooms.size(); ++r)
    for (std::size_t s = 0; s < problem.stages; ++s)
      result.rest -= static_cast<Wide>(prices[r][s]) * problem.rooms[r].free[s];
  for (const Lane& lane : problem.lanes) result.rest += of_lane(problem, lane, sums);
  for (std::size_t q = 0; q < questions().size(); ++q) {
    std::vector<Wide>& terms = result.terms.emplace_back();
    for (std::size_t k = 0; k < variants(q); ++k) terms.push_back(term(versions_[k], q, sums));
    result.rest -= terms.front();
  }
  return result;
}

/// What `priced` adds up, as a linear program's rows and columns.
Joint Alternatives::joint() const {
  const Problem& problem = first();
  Joint joint;
  joint.stages = problem.stages;
  for (std::size_t r = 0; r < problem.rooms.size(); ++r) {
    joint.free.push_back(problem.rooms[r].free);
    joint.placed_free.push_back(static_cast<std::int64_t>(problem.rooms[r].budget) -
                                static_cast<std::int64_t>(placed_always(r)));
  }
  joint.rest.problem = &problem;
  for (std::size_t lane = 0; lane < problem.lanes.size(); ++lane)
    if (!versions_.front().workload.world.values[problem.lanes[lane].value].question)
      joint.rest.lanes.push_back(lane);
  for (std::size_t q = 0; q < questions().size(); ++q) {
    auto& parts = joint.questions.emplace_back();
    for (std::size_t k = 0; k < variants(q); ++k) {
      const Version& version = versions_[k];
      Joint::Part& part = parts.emplace_back();
      part.problem = &version.problem;
      part.lanes = version.lanes[q];
      const auto take = [&](Location at, std::size_t s, Bytes bytes) {
        if (const auto room = problem.room_at(at))
          part.taken.push_back({*room, s, s, static_cast<std::int64_t>(bytes)});
      };
      if (questions()[q].about == Question::About::stage)
        for (const workload::Reservation& item : version.workload.stages[stage_of_[q]].reserve)
          take(item.spec.at, stage_of_[q], round_up_to_granule(item.spec.bytes));
      for (const std::size_t l : part.lanes) {
        const Lane& lane = version.problem.lanes[l];
        part.compulsory += lane.compulsory;
        for (const std::size_t s : lane.uses)
          take(lane.at, s, version.workload.world.values[lane.value].spec.storage_bytes);
      }
      for (std::size_t r = 0; r < problem.rooms.size(); ++r)
        part.placed.push_back(static_cast<std::int64_t>(placed_[q][k * problem.rooms.size() + r]));
    }
    // What its first variant takes was taken from what is free.
    for (const Joint::Taken& item : parts.front().taken) joint.free[item.room][item.first] += item.bytes;
  }
  return joint;
}

Alternatives::Best Alternatives::best_prices() const {
  const Joint question = joint();
  if (question.size() > kLargestJoint) return {};
  JointPrices solved = solve_joint(question);
  return {std::move(solved.prices), std::move(solved.shares)};
}

Bytes Alternatives::bound(const Priced& priced, const std::vector<std::optional<std::size_t>>& fixed) const {
  Wide sum = priced.rest;
  for (std::size_t q = 0; q < priced.terms.size(); ++q) {
    const std::vector<Wide>& terms = priced.terms[q];
    sum += fixed[q] ? terms[*fixed[q]] : *std::min_element(terms.begin(), terms.end());
  }
  if (sum < 0) sum = 0;
  const Wide bytes = (sum + Bound::kOne - 1) / Bound::kOne;
  const Wide unit = static_cast<Wide>(unit_);
  return static_cast<Bytes>((bytes + unit - 1) / unit * unit);
}

Selection Alternatives::cheapest(const Priced& priced) {
  Selection selection;
  for (const std::vector<Wide>& terms : priced.terms)
    selection.push_back(
        static_cast<std::size_t>(std::min_element(terms.begin(), terms.end()) - terms.begin()));
  return selection;
}

std::vector<std::vector<Bytes>> Alternatives::least_loads() const {
  const Problem& problem = first();
  std::vector<std::vector<Bytes>> least;
  for (std::size_t r = 0; r < problem.rooms.size(); ++r) {
    const std::vector<std::int64_t> stuck = forced_charges(problem, r);
    std::vector<Bytes>& row = least.emplace_back();
    for (std::size_t s = 0; s < problem.stages; ++s) {
      const Room& room = problem.rooms[r];
      row.push_back(static_cast<Bytes>(static_cast<std::int64_t>(room.budget) - room.free[s] + stuck[s]));
    }
  }
  for (const std::vector<Loads>& by_variant : loads_) {
    Loads all;  // wherever any variant has something
    for (const Loads& loads : by_variant)
      for (const auto& entry : loads) all.emplace(entry.first, 0);
    const auto at = [](const Loads& loads, Place place) {
      const auto found = loads.find(place);
      return found == loads.end() ? 0 : found->second;
    };
    for (const auto& entry : all) {
      Bytes lowest = at(by_variant.front(), entry.first);
      const Bytes before = lowest;
      for (const Loads& loads : by_variant) lowest = std::min(lowest, at(loads, entry.first));
      least[entry.first.first][entry.first.second] -= before - lowest;
    }
  }
  return least;
}

Bytes Alternatives::placed_always(std::size_t room) const {
  Bytes sum = 0;
  for (const workload::Value& value : versions_.front().workload.world.values)
    if (!value.question &&
        std::find(value.at.begin(), value.at.end(), first().rooms[room].at) != value.at.end())
      sum += value.spec.storage_bytes;
  return sum;
}

Alternatives::Priced Alternatives::with_placement(Priced priced) const {
  const std::size_t rooms = first().rooms.size();
  for (std::size_t r = 0; r < rooms; ++r) {
    const Bytes always = placed_always(r);
    const Bytes budget = first().rooms[r].budget;
    const auto too_much = [&](std::int64_t price) {
      Bytes sum = always;
      for (std::size_t q = 0; q < placed_.size(); ++q) {
        const auto cost = [&](std::size_t k) {
          return priced.terms[q][k] + static_cast<Wide>(price) * static_cast<Wide>(placed_[q][k * rooms + r]);
        };
        std::size_t best = 0;
        for (std::size_t k = 1; k < variants(q); ++k)
          if (cost(k) < cost(best)) best = k;
        sum += placed_[q][best * rooms + r];
      }
      return sum > budget;
    };
    // The bound rises with the price as long as what is cheapest does not fit.
    std::int64_t low = 0, high = Bound::kOne * 64;
    if (!too_much(low)) continue;
    while (low + 1 < high) {
      const std::int64_t middle = low + (high - low) / 2;
      (too_much(middle) ? low : high) = middle;
    }
    priced.rest += static_cast<Wide>(high) * (static_cast<Wide>(always) - static_cast<Wide>(budget));
    for (std::size_t q = 0; q < placed_.size(); ++q)
      for (std::size_t k = 0; k < variants(q); ++k)
        priced.terms[q][k] += static_cast<Wide>(high) * static_cast<Wide>(placed_[q][k * rooms + r]);
  }
  return priced;
}

std::vector<Bytes> Alternatives::least_placed() const {
  const Problem& problem = first();
  std::vector<Bytes> sums;
  for (std::size_t r = 0; r < problem.rooms.size(); ++r) sums.push_back(placed_always(r));
  for (std::size_t q = 0; q < placed_.size(); ++q) {
    for (std::size_t r = 0; r < sums.size(); ++r) {
      Bytes lowest = placed_[q][r];
      for (std::size_t k = 1; k < variants(q); ++k)
        lowest = std::min(lowest, placed_[q][k * sums.size() + r]);
      sums[r] += lowest;
    }
  }
  return sums;
}

Selection Alternatives::least_at(Place place) const {
  Selection selection;
  for (const std::vector<Loads>& by_variant : loads_) {
    std::size_t best = 0;
    Bytes lowest = 0;
    for (std::size_t k = 0; k < by_variant.size(); ++k) {
      const auto found = by_variant[k].find(place);
      const Bytes bytes = found == by_variant[k].end() ? 0 : found->second;
      if (k > 0 && bytes >= lowest) continue;
      best = k;
      lowest = bytes;
    }
    selection.push_back(best);
  }
  return selection;
}

std::vector<std::size_t> Alternatives::asked_in(std::size_t stage) const {
  std::vector<std::size_t> found;
  for (std::size_t q = 0; q < loads_.size(); ++q) {
    const bool there = std::any_of(loads_[q].begin(), loads_[q].end(), [&](const Loads& loads) {
      return std::any_of(loads.begin(), loads.end(),
                         [&](const auto& entry) { return entry.first.second == stage; });
    });
    if (there) found.push_back(q);
  }
  return found;
}

Selection Alternatives::smallest() const {
  // Each question where it has the most at once, for its part of the budget there.
  Selection selection;
  for (std::size_t q = 0; q < loads_.size(); ++q) {
    std::size_t best = 0;
    double lowest = 0;
    for (std::size_t k = 0; k < loads_[q].size(); ++k) {
      double most = 0, all = 0;
      for (const auto& [place, bytes] : loads_[q][k]) {
        const double part = static_cast<double>(bytes) /
                            static_cast<double>(std::max<Bytes>(first().rooms[place.first].budget, 1));
        most = std::max(most, part);
        all += part;
      }
      for (std::size_t r = 0; r < first().rooms.size(); ++r)
        most += static_cast<double>(placed_[q][k * first().rooms.size() + r]) /
                static_cast<double>(std::max<Bytes>(first().rooms[r].budget, 1));
      const double size = most + all * 1e-6;
      if (k > 0 && size >= lowest) continue;
      best = k;
      lowest = size;
    }
    selection.push_back(best);
  }
  return selection;
}

std::optional<Infeasible> Alternatives::certificate() const {
  const Problem& problem = first();
  const auto tell = [&](const Selection& selection, std::size_t room, std::optional<std::size_t> stage) {
    const Workload smallest = with(selection);
    std::optional<Infeasible> found =
        find_certificate(smallest, make_problem(smallest), CertificateAt{room, stage});
    FHERES_CHECK(found.has_value());
    found->reason += ", whichever variants are chosen";
    return found;
  };
  const std::vector<Bytes> placed = least_placed();
  for (std::size_t r = 0; r < placed.size(); ++r) {
    if (placed[r] <= problem.rooms[r].budget) continue;
    Selection selection;
    for (std::size_t q = 0; q < placed_.size(); ++q) {
      std::size_t best = 0;
      for (std::size_t k = 1; k < variants(q); ++k)
        if (placed_[q][k * placed.size() + r] < placed_[q][best * placed.size() + r]) best = k;
      selection.push_back(best);
    }
    return tell(selection, r, std::nullopt);
  }
  const std::vector<std::vector<Bytes>> least = least_loads();
  for (std::size_t s = 0; s < problem.stages; ++s)
    for (std::size_t r = 0; r < problem.rooms.size(); ++r)
      if (least[r][s] > problem.rooms[r].budget) return tell(least_at({r, s}), r, s);
  return std::nullopt;
}

}  // namespace fheres::compile
