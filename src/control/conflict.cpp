#include "conflict.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <fheres/base/check.hpp>

#include "certificate.hpp"
#include "greedy.hpp"

namespace fheres::control {
namespace {

using Kind = Conflict::Kind;
using residency::Materialization;
using residency::State;

std::string name_of(const State& state, HandleId value) {
  const std::string& name = state.record(value).spec->name;
  return name.empty() ? fmt::format("value {}", value.serial) : name;
}

bool is_value(const Member& member) {
  return member.kind != Kind::reservation && member.kind != Kind::reserved;
}

void unprotect(State& state, HandleId value, const Materialization& there) {
  for (std::uint32_t i = 0; i < there.protection.use; ++i)
    state.unprotect(value, there.at, State::Token::use);
  for (std::uint32_t i = 0; i < there.protection.hold; ++i)
    state.unprotect(value, there.at, State::Token::hold);
  for (std::uint32_t i = 0; i < there.protection.pending; ++i)
    state.unprotect(value, there.at, State::Token::pending);
}

// The staging is free again; both ends stay protected.
void end_arrivals(State& state, HandleId value) {
  const auto places = state.record(value).materializations;
  for (const Materialization& there : places) {
    if (!there.arrival) continue;
    state.settle(value, there.at);
    for (const Location end : {there.at, there.arrival->from})
      state.protect(value, end, State::Token::pending);
  }
}

// The state that has only these members: values that none of them names are gone, requested values are protected
// only where a member says so.
State world_of(const Problem& problem, const std::vector<Member>& members) {
  State state = problem.state;
  const std::size_t count = state.records().size();
  std::vector<char> named(count, 0);
  for (const Member& member : members) {
    if (is_value(member)) named[member.value.serial] = 1;
  }
  for (std::uint64_t serial = 0; serial < count; ++serial) {
    const HandleId value = state.handle(serial);
    if (state.record(value).discarded) continue;
    const bool on_its_way = std::any_of(members.begin(), members.end(), [&](const Member& member) {
      return member.kind == Kind::staged && member.value == value;
    });
    if (!on_its_way) end_arrivals(state, value);
    const auto places = state.record(value).materializations;
    for (const Materialization& there : places) {
      const bool kept = std::any_of(members.begin(), members.end(), [&](const Member& member) {
        return is_value(member) && member.kind != Kind::requirement && member.kind != Kind::staged &&
               member.value == value && (member.at == there.at || !problem.requested(value));
      });
      if (!kept) unprotect(state, value, there);
    }
    if (named[serial] == 0) state.apply(residency::Discard{value});
  }
  for (std::size_t i = 0; i < problem.state.reservations().size(); ++i) {
    const bool kept = std::any_of(members.begin(), members.end(), [&](const Member& member) {
      return member.kind == Kind::reserved && member.index == i;
    });
    if (!kept) state.release(problem.state.reservations()[i].id);
  }
  return state;
}

Request request_of(const Problem& problem, const std::vector<Member>& members) {
  Request request{problem.request.name, {}, {}};
  for (const Member& member : members) {
    if (member.kind == Kind::requirement) request.require.push_back({member.value, member.at});
    if (member.kind == Kind::reservation) request.reserve.push_back(problem.request.reserve[member.index]);
  }
  return request;
}

}  // namespace

Verdict judge(const Problem& problem, std::uint64_t limit, std::uint64_t& explored) {
  if (certify_infeasible(problem)) return Verdict::impossible;
  Run quick(problem);
  std::uint64_t steps = 0;
  std::optional<Location> lacking;
  if (greedy(problem, quick, steps, lacking)) return Verdict::served;
  Run run(problem);
  return search_exhaustively(problem, run, limit, explored);
}

std::vector<Member> all_members(const Problem& problem) {
  const State& state = problem.state;
  std::vector<Member> members;
  for (const Requirement& wanted : problem.request.require) {
    members.push_back({.kind = Kind::requirement,
                       .value = wanted.value,
                       .at = wanted.at,
                       .bytes = state.record(wanted.value).spec->storage_bytes});
  }
  for (std::size_t i = 0; i < problem.request.reserve.size(); ++i) {
    const residency::ReservationSpec& spec = problem.request.reserve[i];
    members.push_back(
        {.kind = Kind::reservation, .index = i, .at = spec.at, .bytes = round_up_to_granule(spec.bytes)});
  }
  for (std::size_t i = 0; i < state.reservations().size(); ++i) {
    const residency::ReservationSpec& spec = state.reservations()[i].spec;
    members.push_back({.kind = Kind::reserved, .index = i, .at = spec.at, .bytes = spec.bytes});
  }
  add_staged(state, members);
  for (std::uint64_t serial = 0; serial < state.records().size(); ++serial) {
    const residency::ValueRecord& record = state.records()[serial];
    const HandleId value = state.handle(serial);
    const Bytes bytes = record.spec->storage_bytes;
    if (problem.requested(value)) {
      for (const Materialization& there : record.materializations) {
        if (!there.protection.any()) continue;
        members.push_back({.kind = Kind::in_use, .value = value, .at = there.at, .bytes = bytes});
      }
    } else if (!record.materializations.empty()) {
      const auto guarded = std::find_if(record.materializations.begin(), record.materializations.end(),
                                        [](const Materialization& m) { return m.protection.any(); });
      const bool in_use = guarded != record.materializations.end();
      members.push_back({.kind = in_use ? Kind::in_use : Kind::only_copy,
                         .value = value,
                         .at = in_use ? guarded->at : record.materializations.front().at,
                         .bytes = bytes});
    }
  }
  return members;
}

Shrunk shrink_by_search(const Problem& problem, std::vector<Member> members, std::uint64_t limit,
                        std::uint64_t& explored) {
  Shrunk result;
  const std::uint64_t last = explored + limit;
  const auto still_impossible = [&](const std::vector<Member>& rest) {
    if (explored >= last) {
      result.irreducible = false;
      return false;
    }
    const State state = world_of(problem, rest);
    const Request request = request_of(problem, rest);
    const Problem smaller(state, request, problem.policy, problem.metadata);
    // A search that starts counting anew, so that its own limit is what is left of ours.
    std::uint64_t opened = 0;
    const Verdict verdict = judge(smaller, last - explored, opened);
    explored += opened;
    if (verdict == Verdict::limit_reached) result.irreducible = false;
    return verdict == Verdict::impossible;
  };
  // Most often the residents have no part in it: then one question settles all of them.
  const auto is_resident = [&](const Member& member) {
    return is_value(member) && member.kind != Kind::requirement && !problem.requested(member.value);
  };
  std::vector<Member> without = members;
  std::erase_if(without, is_resident);
  if (without.size() != members.size() && still_impossible(without)) members = std::move(without);
  // Until nothing changes: taking an exclusive endpoint out of the request can make the rest harder, for a while.
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = members.size(); i-- > 0;) {
      std::vector<Member> rest = members;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      if (!still_impossible(rest)) continue;
      members = std::move(rest);
      changed = true;
    }
  }
  result.members = std::move(members);
  return result;
}

Conflict in_words(const Problem& problem, const Member& member) {
  const State& state = problem.state;
  Conflict words{.kind = member.kind,
                 .name = {},
                 .value = {},
                 .reservation = {},
                 .at = member.at,
                 .bytes = member.bytes,
                 .counts = {}};
  if (member.kind == Kind::reservation) {
    words.name = problem.request.reserve[member.index].label;
  } else if (member.kind == Kind::reserved) {
    words.name = state.reservations()[member.index].spec.label;
    words.reservation = state.reservations()[member.index].id;
  } else {
    words.name = name_of(state, member.value);
    words.value = member.value;
    if (const Materialization* there = state.record(member.value).at(member.at))
      words.counts = there->protection;
  }
  return words;
}

std::string list(const std::vector<Conflict>& conflict) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < conflict.size() && i < kShown; ++i) {
    text += (i == 0 ? "" : ", ") + conflict[i].text();
  }
  if (conflict.size() > kShown) text += fmt::format(", and {} more", conflict.size() - kShown);
  return text;
}

}  // namespace fheres::control
