#pragma once

#include <optional>
#include <string>
#include <variant>

#include "verify/books.hpp"
#include "verify/holdings.hpp"

namespace fheres::verify {

/// An action as the rules see it: what a Program's line says, without its phase.
struct Deed {
  enum class Kind { ensure, prefetch, move, drop };
  Kind kind = Kind::ensure;
  ValueIndex value = 0;
  Location at = Location::pageable_host();  // move: the destination
  std::optional<Location> from;
};
/// `move x to cuda:0 from pinned-host`.
std::string text(const Deed& deed, const workload::World& world);

/// Which rule says no, and why: one line with the numbers.
struct No {
  int rule = 0;
  std::string why;
};

/// What an allowed deed does, room aside.
struct Effect {
  enum class By { nothing, copy, load, expansion };
  By by = By::nothing;  // how a copy comes to the deed's location; nothing: there is one, or it only removes
  Location source = Location::pageable_host();  // read there, or loaded there
  bool removes = false;                         // the copy at `removed` goes, at the end
  Location removed = Location::pageable_host();
  bool arrives = false;  // later (R21)
  Bytes moved = 0;       // copied, loaded, or of its backing sent
  Bytes charge = 0;      // used, at the destination
  Bytes temporary =
      0;  // reserved meanwhile at `temporary_at`: a load elsewhere (R16), a backing's copy (R66)
  Location temporary_at = Location::pageable_host();
  Bytes staging = 0;     // reserved meanwhile at pinned-host (R64)
  ValueIndex reads = 0;  // whose copy at `source`: its own, or its backing's
};

/// The rules of placement: what a deed does, or why it may not. Room is not asked for.
std::variant<Effect, No> judge(const Deed& deed, const Holdings& holdings, const workload::World& world);
/// Whether a value may be discarded (R12).
std::optional<No> judge_release(ValueIndex value, const Holdings& holdings, const workload::World& world);
/// Whose copy a move or drop takes away: nothing where none goes.
std::optional<Location> taken_from(const Deed& deed, const Holdings& holdings);

}  // namespace fheres::verify
