#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <fheres/base/shared_vector.hpp>
#include <fheres/memory/arena.hpp>
#include <fheres/residency/state.hpp>

namespace fheres::residency {

/// Who has which addresses of the budgeted pinned and cuda locations, without storage (R27): one arena a location,
/// and the pieces in it. A value beside a State, that explain replays: the same calls in the same order as at run
/// time give the same offsets and the same compactions. Admission stays State's. Not thread safe.
///
/// Blocks of storage that is not the location's region (an adopted block of another region) are in no arena, and
/// what a location without a budget has is not followed.
class Layout {
 public:
  /// Follows nothing: every request has its piece.
  Layout() = default;
  /// Empty regions of these sizes.
  explicit Layout(const std::map<Location, Bytes>& budgets);

  bool follows(Location at) const { return find(at) != nullptr; }
  const memory::Arena* arena(Location at) const;

  /// Bytes that had to slide before there was a piece, in whole granules; or the refusal (Rule::fragmented)
  /// where protected blocks prevent it. `state` says which values are protected: only an unprotected
  /// materialization slides.
  using Placed = std::variant<Bytes, Refusal>;
  Placed place(const State& state, HandleId value, Location at, Bytes bytes,
               memory::End end = memory::End::low);
  void remove(HandleId value, Location at);

  /// A block that no value owns: carved, or on its way. It never slides.
  using Piece = memory::ArenaPiece;
  struct Kept {
    Piece piece;
    Bytes compacted = 0;
  };
  std::variant<Kept, Refusal> keep(const State& state, Location at, Bytes bytes, const std::string& name,
                                   memory::End end = memory::End::low);
  void give_back(Location at, const Piece& piece);
  /// A block at `at` that is there until the value's arrival at `to` is settled: the copy of its backing that it is
  /// expanded from (R66), or the staging that it comes through (R64).
  void keep_for_arrival(HandleId value, Location to, Location at, const Piece& piece);
  void end_arrival(HandleId value, Location to);
  /// The block becomes the value's.
  void adopt(HandleId value, Location at, const Piece& piece);

  // For who builds one from what is there.
  /// A location with this arena, and nothing known of who has what in it.
  void follow(Location at, memory::Arena arena);
  void add(HandleId value, Location at, const Piece& piece);
  void add(const std::string& name, Location at, const Piece& piece);
  /// Only some values are known: place and keep refuse where a compaction would be needed.
  void mark_partial() { partial_ = true; }

 private:
  struct Owned {
    std::uint64_t serial = 0;
    Piece piece;
  };
  struct Named {
    std::string name;
    Piece piece;
  };
  struct Awaited {
    std::uint64_t serial = 0;
    Location to;
    Piece piece;
  };
  struct Room {
    Location at;
    memory::Arena arena;
    SharedVector<Piece> values;  // by serial; without bytes: not here
    std::vector<Named> kept;
    std::vector<Awaited> arrivals;
  };
  const Room* find(Location at) const;
  Room* find(Location at);
  std::variant<Kept, Refusal> take(const State& state, Room& room, Bytes bytes, memory::End end);
  Refusal refusal(const State& state, const Room& room, Bytes bytes, const memory::Obstruction& why) const;

  std::vector<Room> rooms_;
  bool partial_ = false;
};

/// Settles an arrival in both (R23).
void settle(State& state, Layout& layout, const ValuePlace& arrival);

/// Where the blocks of a transition are placed (R27): what is brought ahead lies at the other end of the addresses than
/// what is used now, so that the holes there stay for the next body's blocks.
memory::End end_for(const Transition& transition);

/// Whether a compaction may slide it: R27 moves nothing that a lease, a hold or a pending consumer protects.
bool may_slide(const State& state, HandleId value, Location at);

}  // namespace fheres::residency
