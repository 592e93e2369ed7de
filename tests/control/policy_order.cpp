#include "policy_order.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <tuple>

namespace fheres::control::testing {

using Position = Board::Position;
using Kind = Board::Move::Kind;

struct PolicyOrder::Walk {
  Position now = 0;
  Line line{};
  std::array<std::optional<std::vector<std::size_t>>, Board::kPlaces>
      queues{};  // victims that are left, in order
  std::array<bool, Board::kPlaces> busy{};

  void take(const Move& move, Position next) {
    now = next;
    line.push_back(move);
  }
};

PolicyOrder::PolicyOrder(const Board& board, const residency::State& state, const ValueMetadata& metadata)
    : board_(board), rank_(board.values().size()) {
  std::vector<std::size_t> order(rank_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t value) {  // R54
    const Metadata& known = metadata.of(state.handle(value));
    return std::tuple(known.priority, known.access_epoch, !known.stable_key.has_value(),
                      known.stable_key.value_or(""), value);
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  for (std::size_t i = 0; i < order.size(); ++i) rank_[order[i]] = i;
}

std::vector<std::size_t> PolicyOrder::victims(Position now, std::size_t at, bool displace) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < board_.values().size(); ++i) {
    const Board::Value& value = board_.values()[i];
    const bool here = (Board::mask(now, i) >> at & 1u) != 0 && (value.guarded >> at & 1u) == 0;
    if (here && (displace || (value.wanted >> at & 1u) == 0)) found.push_back(i);
  }
  const auto key = [&](std::size_t i) {
    const unsigned wanted = board_.values()[i].wanted;
    return std::tuple(wanted == 0 ? 0 : (wanted >> at & 1u) == 0 ? 1 : 2, rank_[i]);
  };
  std::sort(found.begin(), found.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return found;
}

// ---- The direct way

bool PolicyOrder::force(Walk& walk, const Move& move) const {
  for (;;) {
    const bool there = move.kind == Kind::place && (Board::mask(walk.now, move.value) >> move.at & 1u) != 0;
    const Board::Result result = board_.make(walk.now, move);
    if (there || result.next) {
      walk.take(move, there ? walk.now : *result.next);
      return true;
    }
    if (!result.lacking || !make_room(walk, *result.lacking)) return false;
  }
}

bool PolicyOrder::make_room(Walk& walk, std::size_t at) const {
  if (walk.busy[at]) return false;
  walk.busy[at] = true;
  if (!walk.queues[at]) walk.queues[at] = victims(walk.now, at, false);
  bool done = false;
  while (!done && !walk.queues[at]->empty()) {
    const std::size_t value = walk.queues[at]->front();
    walk.queues[at]->erase(walk.queues[at]->begin());
    done = evict(walk, value, at);
  }
  walk.busy[at] = false;
  return done;
}

bool PolicyOrder::evict(Walk& walk, std::size_t value, std::size_t at) const {
  if ((Board::mask(walk.now, value) >> at & 1u) == 0) return false;
  const Move drop{.kind = Kind::drop, .value = value, .at = at};
  if (const Board::Result result = board_.make(walk.now, drop); result.next) {
    walk.take(drop, *result.next);
    return true;
  }
  for (const std::size_t tier : board_.places()[at].tiers)
    if (force(walk, {.kind = Kind::offload, .value = value, .at = at, .to = tier})) return true;
  return false;
}

std::optional<PolicyOrder::Line> PolicyOrder::direct() const {
  Walk walk{.now = board_.start()};
  if (!force(walk, {.kind = Kind::reserve})) return std::nullopt;
  for (const Move& endpoint : board_.endpoints())
    if (!force(walk, endpoint)) return std::nullopt;
  if (!board_.served(walk.now)) return std::nullopt;
  return walk.line;
}

// ---- All other ways

PolicyOrder::Walk PolicyOrder::harmless() const {
  Walk walk{.now = board_.start()};
  const auto budgeted = [&](std::size_t place) { return board_.places()[place].budget.has_value(); };
  for (std::size_t at = 0; at < board_.places().size(); ++at) {
    if (!budgeted(at)) continue;
    for (const std::size_t value : victims(walk.now, at, false)) {
      if (requested(value)) continue;
      const unsigned there = Board::mask(walk.now, value);
      bool survives = !board_.values()[value].preserve;
      for (std::size_t place = 0; place < board_.places().size(); ++place) {
        if ((there >> place & 1u) == 0) continue;
        survives = survives || (board_.values()[value].guarded >> place & 1u) != 0 || !budgeted(place);
      }
      Line options;
      if (survives) {
        options.push_back({.kind = Kind::drop, .value = value, .at = at});
      } else {
        for (const std::size_t tier : board_.places()[at].tiers)
          if (!budgeted(tier))
            options.push_back({.kind = Kind::offload, .value = value, .at = at, .to = tier});
      }
      for (const Move& move : options) {
        const Board::Result result = board_.make(walk.now, move);
        if (!result.next) continue;
        walk.take(move, *result.next);
        break;
      }
    }
  }
  return walk;
}

std::vector<std::uint64_t> PolicyOrder::situation(Position now,
                                                  const std::vector<std::size_t>& classes) const {
  std::vector<std::uint64_t> key;
  for (std::size_t i = 0; i < classes.size(); ++i) key.push_back(classes[i] << 4 | Board::mask(now, i));
  std::sort(key.begin(), key.end());
  key.push_back(now & Board::kReserved);
  return key;
}

PolicyOrder::Line PolicyOrder::next(Position now, const std::vector<std::size_t>& classes) const {
  Line found;
  std::optional<std::size_t> lacking;
  const auto go_on = [&](const Move& move) {
    const Board::Result result = board_.make(now, move);
    if (result.next) found.push_back(move);
    if (!lacking) lacking = result.lacking;
  };
  if ((now & Board::kReserved) == 0) {
    go_on({.kind = Kind::reserve});
  } else {
    for (const Move& endpoint : board_.endpoints()) go_on(endpoint);
  }
  const auto leave = [&](std::size_t at) {
    std::set<std::uint64_t> alike;
    for (const std::size_t value : victims(now, at, true)) {
      if (!board_.places()[at].budget && !requested(value)) continue;
      const unsigned there = Board::mask(now, value);
      if (!alike.insert(classes[value] << 4 | there).second) continue;
      const bool last = (there & (there - 1)) == 0;
      const bool preserve = board_.values()[value].preserve;
      if (!last || !preserve) found.push_back({.kind = Kind::drop, .value = value, .at = at});
      if (!requested(value) && (!last || !preserve)) continue;
      if (!last && !board_.staged()) continue;
      for (const std::size_t tier : board_.places()[at].tiers)
        found.push_back({.kind = Kind::offload, .value = value, .at = at, .to = tier});
    }
  };
  if (lacking) leave(*lacking);
  for (std::size_t at = 0; at < board_.places().size(); ++at) {
    const Board::Place& place = board_.places()[at];
    if (at != lacking && (place.budget || (board_.staged() && place.at.is_cuda()))) leave(at);
  }
  return found;
}

std::optional<PolicyOrder::Line> PolicyOrder::searched(std::size_t limit) const {
  const Walk start = harmless();
  std::vector<std::size_t> classes;
  for (std::size_t i = 0; i < board_.values().size(); ++i) {
    const auto all = [&](std::size_t value) {
      const Board::Value& v = board_.values()[value];
      return std::tuple(v.charge, v.copied, v.loaded, v.exclusive, v.preserve, v.source, v.guarded, v.wanted,
                        Board::mask(start.now, value));
    };
    std::size_t same = 0;
    while (all(same) != all(i)) ++same;
    classes.push_back(same);
  }
  struct Node {
    Position now;
    Line moves;
    std::size_t next = 0;
  };
  std::set<std::vector<std::uint64_t>> seen{situation(start.now, classes)};
  std::vector<Node> path{{start.now, next(start.now, classes)}};
  while (!path.empty() && seen.size() <= limit) {
    Node& top = path.back();
    if (top.next == top.moves.size()) {
      path.pop_back();
      continue;
    }
    const Board::Result result = board_.make(top.now, top.moves[top.next++]);
    if (!result.next) continue;
    if (board_.served(*result.next)) {
      Line line = start.line;
      for (const Node& node : path) line.push_back(node.moves[node.next - 1]);
      for (const Move& endpoint : board_.endpoints())
        if (std::find(line.begin(), line.end(), endpoint) == line.end()) line.push_back(endpoint);
      return line;
    }
    if (seen.insert(situation(*result.next, classes)).second)
      path.push_back({*result.next, next(*result.next, classes)});
  }
  return std::nullopt;
}

// ---- What is left out

std::optional<PolicyOrder::Line> PolicyOrder::played(const Line& line) const {
  Walk walk{.now = board_.start()};
  for (const Move& move : line) {
    const bool there = move.kind != Kind::reserve && (Board::mask(walk.now, move.value) >> move.at & 1u) != 0;
    if (is_eviction(move) && !there) continue;
    if (move.kind == Kind::place && there) {
      walk.take(move, walk.now);
      continue;
    }
    const Board::Result result = board_.make(walk.now, move);
    if (!result.next) return std::nullopt;
    walk.take(move, *result.next);
  }
  if (!board_.served(walk.now)) return std::nullopt;
  return walk.line;
}

bool PolicyOrder::shorten(Line& line) const {
  bool shorter = false;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = line.size(); i-- > 0;) {
      if (!is_eviction(line[i])) continue;
      Line rest = line;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      if (auto serves = played(rest)) {
        line = *serves;
        changed = shorter = true;
      }
    }
  }
  return shorter;
}

PolicyOrder::Line PolicyOrder::tidied(const Line& line) const {
  Line early = line;
  std::stable_partition(early.begin(), early.end(), [&](const Move& move) { return is_eviction(move); });
  Line tidy = played(early).value_or(line);
  shorten(tidy);
  return tidy;
}

PolicyOrder::Line PolicyOrder::tidied_with_earlier_tiers(const Line& line) const {
  Line tidy = tidied(line);
  for (bool changed = true; changed; changed = changed && shorten(tidy)) {
    changed = false;
    for (std::size_t i = 0; i < tidy.size(); ++i) {
      if (tidy[i].kind != Kind::offload) continue;
      for (const std::size_t tier : board_.places()[tidy[i].at].tiers) {
        if (tier == tidy[i].to) break;
        Line other = tidy;
        other[i].to = tier;
        if (played(other) != other) continue;
        tidy = other;
        changed = true;
        break;
      }
    }
  }
  return tidy;
}

}  // namespace fheres::control::testing
