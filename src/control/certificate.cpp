#include "certificate.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace fheres::control {
namespace {

using residency::Materialization;
using residency::State;
using residency::ValueRecord;
using ByLocation = std::array<Bytes, Location::kCount>;

constexpr Bytes kFar = std::numeric_limits<Bytes>::max();

Bytes plus(Bytes a, Bytes b) { return a > kFar - b ? kFar : a + b; }

Bytes charge_of(const residency::ReservationSpec& reservation) {
  return reservation.bytes > kFar - kGranule ? kFar : round_up_to_granule(reservation.bytes);
}

// What must be charged at each location, whatever is decided.
class Ledger {
 public:
  explicit Ledger(const Problem& problem) : problem_(problem) {
    const State& state = problem.state;
    for (const residency::Account& account : state.accounts())
      reserved_[account.at.index()] = account.reserved;
    for (const Requirement& wanted : problem.request.require) {
      Bytes& sum = needed_[wanted.at.index()];
      sum = plus(sum, state.record(wanted.value).spec->storage_bytes);
    }
    for (const residency::ReservationSpec& wanted : problem.request.reserve) {
      Bytes& sum = wanted_[wanted.at.index()];
      sum = plus(sum, charge_of(wanted));
    }
    state.guarded().for_each([&](std::size_t serial) {
      const ValueRecord& record = state.records()[serial];
      for (const Materialization& there : record.materializations) {
        if (!there.protection.any() || problem.required(state.handle(serial), there.at)) continue;
        protected_[there.at.index()] += record.spec->storage_bytes;
      }
    });
  }

  // The only copy of a value that must be preserved, with no tier that could ever take it. `because` gets the tiers
  // that could, were they empty.
  bool stuck(HandleId value, std::vector<Location>* because = nullptr) const {
    const ValueRecord& record = problem_.state.record(value);
    if (!problem_.state.preserved(value) || record.materializations.size() != 1 ||
        record.materializations.front().protection.any() || problem_.requested(value)) {
      return false;
    }
    for (const Location tier : problem_.tiers(record.materializations.front().at)) {
      if (!problem_.state.present(tier)) continue;
      const std::optional<Bytes> budget = budget_of(problem_.state, tier);
      const Bytes taken = plus(protected_[tier.index()], reserved_[tier.index()]);
      if (!budget || plus(taken, record.spec->storage_bytes) <= *budget) return false;
      if (because != nullptr && record.spec->storage_bytes <= *budget) because->push_back(tier);
    }
    return true;
  }

  // Others' charges that no plan can take away.
  Bytes held(Location at) const {
    return plus(plus(protected_[at.index()], stuck_at(at)), reserved_[at.index()]);
  }
  // What is charged there now, which held() never exceeds: known without looking at any value.
  Bytes charged(Location at) const {
    const residency::Account* account = problem_.state.account(at);
    return account == nullptr ? 0 : plus(account->used, account->reserved);
  }
  Bytes at_most(Location at) const { return plus(plus(charged(at), wanted(at)), needed(at)); }
  Bytes wanted(Location at) const { return wanted_[at.index()]; }
  Bytes needed(Location at) const { return needed_[at.index()]; }
  Bytes total(Location at) const { return plus(plus(held(at), wanted(at)), needed(at)); }

 private:
  // Summed when it is first asked for: few locations come near their budget.
  Bytes stuck_at(Location at) const {
    std::optional<Bytes>& sum = stuck_[at.index()];
    if (sum) return *sum;
    sum = 0;
    problem_.state.residents(at).for_each([&](std::size_t serial) {
      const HandleId value = problem_.state.handle(serial);
      if (stuck(value)) *sum += problem_.state.record(value).spec->storage_bytes;
    });
    return *sum;
  }

  const Problem& problem_;
  ByLocation reserved_{}, protected_{}, wanted_{}, needed_{};
  mutable std::array<std::optional<Bytes>, Location::kCount> stuck_{};
};

void add_held(const Problem& problem, const Ledger& ledger, Location at, std::vector<Member>& members) {
  const State& state = problem.state;
  state.residents(at).for_each([&](std::size_t serial) {
    const HandleId value = state.handle(serial);
    const ValueRecord& record = state.records()[serial];
    if (problem.required(value, at)) return;
    const Bytes bytes = record.spec->storage_bytes;
    if (record.at(at)->protection.any()) {
      members.push_back({.kind = Conflict::Kind::in_use, .value = value, .at = at, .bytes = bytes});
    } else if (ledger.stuck(value)) {
      members.push_back({.kind = Conflict::Kind::only_copy, .value = value, .at = at, .bytes = bytes});
    }
  });
  if (at == Location::pinned_host()) add_staged(state, members);
  for (std::size_t i = 0; i < state.reservations().size(); ++i) {
    const residency::ReservationSpec& spec = state.reservations()[i].spec;
    if (spec.at != at) continue;
    members.push_back({.kind = Conflict::Kind::reserved, .index = i, .at = at, .bytes = spec.bytes});
  }
}

void add_wanted(const Problem& problem, Location at, bool endpoints, std::vector<Member>& members) {
  for (const Requirement& wanted : problem.request.require) {
    if (!endpoints || wanted.at != at) continue;
    members.push_back({.kind = Conflict::Kind::requirement,
                       .value = wanted.value,
                       .at = at,
                       .bytes = problem.state.record(wanted.value).spec->storage_bytes});
  }
  for (std::size_t i = 0; i < problem.request.reserve.size(); ++i) {
    if (problem.request.reserve[i].at != at) continue;
    members.push_back({.kind = Conflict::Kind::reservation,
                       .index = i,
                       .at = at,
                       .bytes = charge_of(problem.request.reserve[i])});
  }
}

// Leaves out the smallest members first, later ones before earlier ones, as long as the rest exceeds the budget:
// what stays is irreducible, and short.
void shrink(std::vector<Member>& members, Bytes budget) {
  std::vector<std::size_t> order(members.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return members[a].bytes < members[b].bytes; });
  // Exact also where single members are absurdly large.
  unsigned __int128 sum = 0;
  for (const Member& member : members) sum += member.bytes;
  std::vector<char> gone(members.size(), 0);
  for (const std::size_t i : order) {
    if (sum - members[i].bytes <= budget) continue;
    sum -= members[i].bytes;
    gone[i] = 1;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (gone[i] == 0) members[kept++] = members[i];
  }
  members.resize(kept);
}

// Whether the endpoint may have to come through staging that has a budget (R64).
bool may_be_staged(const Problem& problem, const ValueRecord& record, Location to) {
  if (!to.is_cuda() || !budget_of(problem.state, Location::pinned_host())) return false;
  const auto is_other = [&](Location from) {
    return from.is_cuda() && from != to && !problem.state.copies().are_peers(from, to);
  };
  return (record.source && is_other(*record.source)) ||
         std::any_of(record.materializations.begin(), record.materializations.end(),
                     [&](const Materialization& m) { return is_other(m.at); });
}

// Shrinks the members by their sum, and says where the sum is not all there is to it: an endpoint that may not even
// be loadable, or a resident that stays only because of what fills its tiers.
void settle(const Problem& problem, const Ledger& ledger, Certificate& found) {
  shrink(found.members, found.budget);
  std::vector<Location> full;
  for (const Member& member : found.members) {
    if (member.kind == Conflict::Kind::requirement) {
      const ValueRecord& record = problem.state.record(member.value);
      found.entangled = found.entangled || live_backing(problem.state, member.value) ||
                        (record.materializations.empty() && *record.source != member.at &&
                         budget_of(problem.state, *record.source)) ||
                        may_be_staged(problem, record, member.at);
    }
    if (member.kind == Conflict::Kind::only_copy) ledger.stuck(member.value, &full);
  }
  std::sort(full.begin(), full.end());
  full.erase(std::unique(full.begin(), full.end()), full.end());
  for (const Location tier : full) {
    found.entangled = true;
    if (std::find(found.closed.begin(), found.closed.end(), tier) != found.closed.end()) continue;
    add_held(problem, ledger, tier, found.members);
  }
}

// An exclusive value that is protected where it is cannot come anywhere else, and what has no bytes yet nowhere.
std::optional<Certificate> blocked_endpoint(const Problem& problem) {
  for (const Requirement& wanted : problem.request.require) {
    const ValueRecord& record = problem.state.record(wanted.value);
    if (record.materializations.empty() && !record.source && !record.backing) {
      return Certificate{.at = wanted.at,
                         .closed = {},
                         .members = {{.kind = Conflict::Kind::requirement,
                                      .value = wanted.value,
                                      .at = wanted.at,
                                      .bytes = record.spec->storage_bytes}},
                         .load = {},
                         .blocked = "which has no bytes yet"};
    }
    if (record.spec->replica_mode != residency::ReplicaMode::exclusive || record.materializations.empty())
      continue;
    const Materialization& there = record.materializations.front();
    if (there.at == wanted.at || !there.protection.any()) continue;
    const Bytes bytes = record.spec->storage_bytes;
    return Certificate{
        .at = there.at,
        .closed = {},
        .members =
            {{.kind = Conflict::Kind::requirement, .value = wanted.value, .at = wanted.at, .bytes = bytes},
             {.kind = Conflict::Kind::in_use, .value = wanted.value, .at = there.at, .bytes = bytes}},
        .entangled = true,
        .load = {},
        .blocked = "an exclusive value"};
  }
  return std::nullopt;
}

// A value that has to be loaded needs room at its source for that time, while all reservations are admitted.
std::optional<Certificate> impossible_load(const Problem& problem, const Ledger& ledger) {
  for (const Requirement& wanted : problem.request.require) {
    const ValueRecord& record = problem.state.record(wanted.value);
    if (!record.materializations.empty() || !record.source || problem.required(wanted.value, *record.source))
      continue;
    const Location source = *record.source;
    const std::optional<Bytes> budget = budget_of(problem.state, source);
    const Bytes bytes = record.spec->storage_bytes;
    if (!budget || plus(plus(ledger.charged(source), ledger.wanted(source)), bytes) <= *budget) continue;
    const Bytes total = plus(plus(ledger.held(source), ledger.wanted(source)), bytes);
    if (total <= *budget) continue;
    const Member load{
        .kind = Conflict::Kind::requirement, .value = wanted.value, .at = wanted.at, .bytes = bytes};
    Certificate found{.at = source,
                      .closed = {source},
                      .needed = total,
                      .budget = *budget,
                      .members = {load},
                      .load = load};
    add_wanted(problem, source, false, found.members);
    add_held(problem, ledger, source, found.members);
    found.entangled = true;
    settle(problem, ledger, found);
    return found;
  }
  return std::nullopt;
}

// A value that has to be expanded, and can be at one place only, needs room there beside its backing, or a copy of it,
// while all reservations are admitted (R66).
std::optional<Certificate> impossible_expansion(const Problem& problem, const Ledger& ledger) {
  for (const Requirement& wanted : problem.request.require) {
    const ValueRecord& record = problem.state.record(wanted.value);
    const std::optional<HandleId> backing = live_backing(problem.state, wanted.value);
    if (!backing || !record.materializations.empty() || problem.times_required(wanted.value) != 1) continue;
    const std::optional<Bytes> budget = budget_of(problem.state, wanted.at);
    if (!budget) continue;
    const Materialization* there = problem.state.record(*backing).at(wanted.at);
    const bool counted =  // among what no plan can take away
        there != nullptr &&
        ((there->protection.any() && !problem.required(*backing, wanted.at)) || ledger.stuck(*backing));
    Bytes bytes = record.spec->storage_bytes;
    if (!counted) bytes = plus(bytes, problem.state.record(*backing).spec->storage_bytes);
    const Bytes total = plus(plus(ledger.held(wanted.at), ledger.wanted(wanted.at)), bytes);
    if (total <= *budget) continue;
    const Member load{
        .kind = Conflict::Kind::requirement, .value = wanted.value, .at = wanted.at, .bytes = bytes};
    Certificate found{.at = wanted.at,
                      .closed = {wanted.at},
                      .needed = total,
                      .budget = *budget,
                      .members = {load},
                      .load = load,
                      .expands = true};
    add_wanted(problem, wanted.at, false, found.members);
    add_held(problem, ledger, wanted.at, found.members);
    found.entangled = true;
    settle(problem, ledger, found);
    return found;
  }
  return std::nullopt;
}

std::optional<Certificate> overfull_location(const Problem& problem, const Ledger& ledger) {
  for (const residency::Account& account : problem.state.accounts()) {
    if (!account.budget || ledger.at_most(account.at) <= *account.budget ||
        ledger.total(account.at) <= *account.budget)
      continue;
    // Residents alone never exceed a budget, so the request has a part in it.
    Certificate found{.at = account.at,
                      .closed = {account.at},
                      .needed = ledger.total(account.at),
                      .budget = *account.budget,
                      .members = {},
                      .load = {}};
    add_wanted(problem, account.at, true, found.members);
    add_held(problem, ledger, account.at, found.members);
    settle(problem, ledger, found);
    return found;
  }
  return std::nullopt;
}

// The budgeted locations that values of `from` can reach through tiers; empty where one of them has no budget.
std::vector<Location> closure(const Problem& problem, Location from) {
  std::vector<Location> closed{from};
  for (std::size_t i = 0; i < closed.size(); ++i) {
    for (const Location tier : problem.tiers(closed[i])) {
      if (!problem.state.present(tier)) continue;
      if (!budget_of(problem.state, tier)) return {};
      if (std::find(closed.begin(), closed.end(), tier) == closed.end()) closed.push_back(tier);
    }
  }
  return closed;
}

// Values that can only move among some budgeted locations, and are too many for all of them together.
std::optional<Certificate> overfull_closure(const Problem& problem, const Ledger& ledger) {
  const State& state = problem.state;
  const auto& records = state.records();
  for (const residency::Account& account : state.accounts()) {
    if (!account.budget) continue;
    const std::vector<Location> closed = closure(problem, account.at);
    if (closed.size() < 2) continue;
    const auto inside = [&](Location at) {
      return std::find(closed.begin(), closed.end(), at) != closed.end();
    };
    Bytes budget = 0;
    Bytes at_most = 0;
    for (const Location at : closed) {
      budget = plus(budget, *budget_of(state, at));
      at_most = plus(at_most, ledger.at_most(at));
    }
    if (at_most <= budget) continue;
    Bytes needed = 0;
    for (const Location at : closed) needed = plus(needed, ledger.total(at));
    std::vector<Member> confined;
    for (std::uint64_t serial = 0; serial < records.size(); ++serial) {
      const ValueRecord& record = records[serial];
      const HandleId value = state.handle(serial);
      if (!state.preserved(value) || record.materializations.empty() || problem.requested(value) ||
          ledger.stuck(value)) {
        continue;
      }
      const bool stays =
          std::all_of(record.materializations.begin(), record.materializations.end(),
                      [&](const Materialization& m) { return inside(m.at) && !m.protection.any(); });
      if (!stays) continue;
      needed = plus(needed, record.spec->storage_bytes);
      confined.push_back({.kind = Conflict::Kind::only_copy,
                          .value = value,
                          .at = record.materializations.front().at,
                          .bytes = record.spec->storage_bytes});
    }
    if (needed <= budget) continue;
    Certificate found{
        .at = account.at, .closed = closed, .needed = needed, .budget = budget, .members = {}, .load = {}};
    for (const Location at : closed) {
      add_wanted(problem, at, true, found.members);
      add_held(problem, ledger, at, found.members);
    }
    found.members.insert(found.members.end(), confined.begin(), confined.end());
    found.entangled = true;
    settle(problem, ledger, found);
    return found;
  }
  return std::nullopt;
}

}  // namespace

void add_staged(const State& state, std::vector<Member>& members) {
  state.arriving().for_each([&](std::size_t serial) {
    for (const Materialization& there : state.records()[serial].materializations) {
      if (!there.arrival || there.arrival->staging == 0) continue;
      members.push_back({.kind = Conflict::Kind::staged,
                         .value = state.handle(serial),
                         .at = Location::pinned_host(),
                         .bytes = there.arrival->staging});
    }
  });
}

std::optional<Certificate> certify_infeasible(const Problem& problem) {
  const Ledger ledger(problem);
  if (auto found = blocked_endpoint(problem)) return found;
  if (auto found = overfull_location(problem, ledger)) return found;
  if (auto found = impossible_load(problem, ledger)) return found;
  if (auto found = impossible_expansion(problem, ledger)) return found;
  return overfull_closure(problem, ledger);
}

std::vector<Member> immovable_at(const Problem& problem, Location at) {
  std::vector<Member> members;
  add_held(problem, Ledger(problem), at, members);
  return members;
}

}  // namespace fheres::control
