#include <algorithm>

#include <fheres/base/check.hpp>
#include <fheres/residency/layout.hpp>

namespace fheres::residency {

namespace {

// Whose copy is on its way to where a value arrives: its backing's, which it is expanded from, or its own.
std::string sent_name(const State& state, HandleId value, Location to) {
  const Materialization* there = state.record(value).at(to);
  const bool expands = there != nullptr && there->arrival && there->arrival->backing;
  const HandleId sent = expands ? *there->arrival->backing : value;
  return state.record(sent).spec ? state.record(sent).spec->name : "a block that no value owns";
}

}  // namespace

bool may_slide(const State& state, HandleId value, Location at) {
  const Materialization* there = state.record(value).at(at);
  return there != nullptr && !there->protection.any();
}

// R27
memory::End end_for(const Transition& transition) {
  return transition.asynchronous ? memory::End::high : memory::End::low;
}

Layout::Layout(const std::map<Location, Bytes>& budgets) {
  for (const auto& [at, budget] : budgets)
    if (at != Location::pageable_host()) follow(at, memory::Arena(budget));
}

const Layout::Room* Layout::find(Location at) const {
  for (const Room& room : rooms_)
    if (room.at == at) return &room;
  return nullptr;
}

Layout::Room* Layout::find(Location at) {
  for (Room& room : rooms_)
    if (room.at == at) return &room;
  return nullptr;
}

const memory::Arena* Layout::arena(Location at) const {
  const Room* room = find(at);
  return room == nullptr ? nullptr : &room->arena;
}

// ---- What is there

void Layout::follow(Location at, memory::Arena arena) {
  rooms_.push_back({at, std::move(arena), {}, {}, {}});
}

void Layout::add(HandleId value, Location at, const Piece& piece) {
  Room* room = find(at);
  if (room == nullptr || piece.bytes == 0) return;
  while (room->values.size() <= value.serial) room->values.push_back({});
  FHERES_CHECK(room->values[value.serial].bytes == 0);
  room->values.edit(value.serial) = piece;
}

void Layout::add(const std::string& name, Location at, const Piece& piece) {
  if (Room* room = find(at)) room->kept.push_back({name, piece});
}

// ---- Requests

Layout::Placed Layout::place(const State& state, HandleId value, Location at, Bytes bytes, memory::End end) {
  Room* room = find(at);
  if (room == nullptr || bytes == 0) return Bytes{0};
  auto taken = take(state, *room, bytes, end);
  if (auto* refusal = std::get_if<Refusal>(&taken)) {
    refusal->value = value;
    return std::move(*refusal);
  }
  const Kept& made = std::get<Kept>(taken);
  add(value, at, made.piece);
  return made.compacted;
}

void Layout::remove(HandleId value, Location at) {
  Room* room = find(at);
  if (room == nullptr) return;
  if (value.serial >= room->values.size() || room->values[value.serial].bytes == 0) return;
  const Piece gone = room->values[value.serial];
  room->arena.free(gone.offset, gone.bytes);
  room->values.edit(value.serial) = {};
}

std::variant<Layout::Kept, Refusal> Layout::keep(const State& state, Location at, Bytes bytes,
                                                 const std::string& name, memory::End end) {
  Room* room = find(at);
  if (room == nullptr || bytes == 0) return Kept{};
  auto taken = take(state, *room, bytes, end);
  if (const auto* made = std::get_if<Kept>(&taken)) room->kept.push_back({name, made->piece});
  return taken;
}

void Layout::give_back(Location at, const Piece& piece) {
  Room* room = find(at);
  if (room == nullptr || piece.bytes == 0) return;
  std::erase_if(room->kept, [&](const Named& named) { return named.piece == piece; });
  room->arena.free(piece.offset, piece.bytes);
}

void Layout::keep_for_arrival(HandleId value, Location to, Location at, const Piece& piece) {
  Room* room = find(at);
  if (room == nullptr || piece.bytes == 0) return;
  std::erase_if(room->kept, [&](const Named& named) { return named.piece == piece; });
  room->arrivals.push_back({value.serial, to, piece});
}

void Layout::end_arrival(HandleId value, Location to) {
  for (Room& room : rooms_) {
    std::erase_if(room.arrivals, [&](const Awaited& awaited) {
      if (awaited.serial != value.serial || awaited.to != to) return false;
      room.arena.free(awaited.piece.offset, awaited.piece.bytes);
      return true;
    });
  }
}

void settle(State& state, Layout& layout, const ValuePlace& arrival) {
  state.settle(arrival.value, arrival.at);
  layout.end_arrival(arrival.value, arrival.at);
}

void Layout::adopt(HandleId value, Location at, const Piece& piece) {
  Room* room = find(at);
  if (room == nullptr || piece.bytes == 0) return;
  std::erase_if(room->kept, [&](const Named& named) { return named.piece == piece; });
  add(value, at, piece);
}

std::variant<Layout::Kept, Refusal> Layout::take(const State& state, Room& room, Bytes bytes,
                                                 memory::End end) {
  if (const auto offset = room.arena.allocate(bytes, end)) return Kept{{*offset, bytes}, 0};
  if (partial_) return refusal(state, room, bytes, {room.arena.largest_free(), {}});
  std::vector<Piece> movable;
  std::vector<std::size_t> whose;
  state.residents(room.at).for_each([&](std::size_t serial) {
    if (serial >= room.values.size() || room.values[serial].bytes == 0) return;
    if (!may_slide(state, state.handle(serial), room.at)) return;
    movable.push_back(room.values[serial]);
    whose.push_back(serial);
  });
  const auto planned = room.arena.plan_compaction(movable, bytes);
  if (const auto* why = std::get_if<memory::Obstruction>(&planned)) return refusal(state, room, bytes, *why);
  const auto& plan = std::get<memory::Compaction>(planned);
  room.arena.apply(plan);
  for (const memory::Slide& slide : plan.slides) room.values.edit(whose[slide.piece]).offset = slide.to;
  const auto offset = room.arena.allocate(bytes, end);
  FHERES_CHECK(offset.has_value());
  return Kept{{*offset, bytes}, plan.copied()};
}

Refusal Layout::refusal(const State& state, const Room& room, Bytes bytes,
                        const memory::Obstruction& why) const {
  Refusal refused{.rule = Refusal::Rule::fragmented, .value = {}, .at = room.at};
  if (const Account* account = state.account(room.at)) {
    refused.budget = account->budget.value_or(0);
    refused.used = account->used;
    refused.reserved = account->reserved;
  }
  refused.requested = round_up_to_granule(bytes);
  refused.largest_free = why.largest_free;
  struct Blocking {
    Bytes offset;
    std::string name;
  };
  std::vector<Blocking> blocking;
  for (const memory::ArenaPiece& span : why.in_the_way) {
    const auto within = [&](const Piece& piece) {
      return piece.offset >= span.offset && piece.offset < span.end();
    };
    const std::size_t before = blocking.size();
    for (std::size_t serial = 0; serial < room.values.size(); ++serial) {
      const Piece& piece = room.values[serial];
      if (piece.bytes != 0 && within(piece))
        blocking.push_back({piece.offset, state.record(state.handle(serial)).spec->name});
    }
    for (const Awaited& awaited : room.arrivals)
      if (within(awaited.piece))
        blocking.push_back(
            {awaited.piece.offset, sent_name(state, state.handle(awaited.serial), awaited.to)});
    for (const Named& named : room.kept)
      if (within(named.piece)) blocking.push_back({named.piece.offset, named.name});
    if (blocking.size() == before) blocking.push_back({span.offset, "a block that no value owns"});
  }
  std::sort(blocking.begin(), blocking.end(),
            [](const Blocking& a, const Blocking& b) { return a.offset < b.offset; });
  auto names = std::make_shared<std::vector<std::string>>();
  for (Blocking& one : blocking) names->push_back(std::move(one.name));
  refused.in_the_way = std::move(names);
  return refused;
}

}  // namespace fheres::residency
