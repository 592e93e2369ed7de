// What a value is expanded from, and what has to stay for it (R66).
#include "lockstep/rules.hpp"

namespace fheres::lockstep {

void Rules::register_backed(const ValueSpec& spec, std::uint64_t backing) {
  RuleValue value;
  value.spec = spec;
  value.backing = backing;
  values_.push_back(std::move(value));
}

// R11, R66: of a value that nothing brings back, and of what brings another one back.
bool Rules::must_stay(std::uint64_t serial) const {
  const RuleValue& value = values_[serial];
  if (value.spec.recoverability != residency::Recoverability::reconstructible) return true;
  if (value.backing && values_[*value.backing].discarded) return true;
  for (const RuleValue& other : values_) {
    if (!other.discarded && other.backing == serial) return true;
  }
  return false;
}

// R66: somebody has nothing else.
bool Rules::is_needed(std::uint64_t serial) const {
  for (const RuleValue& other : values_) {
    if (!other.discarded && other.backing == serial && other.copies.empty()) return true;
  }
  return false;
}

// False where the value does not come by expansion.
bool Rules::judge_expansion(Expectation& expected, const RuleValue& value, Location at,
                            std::optional<Location> from, bool is_move) const {
  if (!value.backing || from) return false;
  const RuleValue& backing = values_[*value.backing];
  if (backing.copies.empty()) return false;
  const bool in_place = backing.copies.count(at) != 0;
  const Location read = in_place ? at : *source_of(backing, at);
  const Bytes sent = in_place ? 0 : backing.copies.at(read).actual;
  if (!value.copies.empty()) {
    const bool fastest = copies_.source_order == residency::SourceOrder::fastest;
    if (is_move || !fastest || sent >= value.copies.at(*source_of(value, at)).actual) return false;
  }
  expected.work = Expectation::Work::expand;
  expected.source = read;
  expected.backing = value.backing;
  expected.bytes = sent;
  expected.block = value.spec.logical_bytes;
  if (!in_place) expected.temporary = backing.spec.storage_bytes;
  if (!admits(at, value.spec.storage_bytes + expected.temporary)) expected.refusals.insert(kBudget);
  if (is_staged(read, at)) expected.staging = backing.spec.storage_bytes;
  if (!admits(Location::pinned_host(), expected.staging)) expected.refusals.insert(kBudget);
  expected.has_piece =
      in_place ? has_piece(at, expected.block) : has_pieces(at, sent, expected.block, expected.asynchronous);
  if (expected.staging != 0 && !has_piece(Location::pinned_host(), sent)) expected.has_piece = false;
  return true;
}

// A second block, while the first, which no value has yet, stays where it is.
std::optional<Bytes> Rules::take_beside(Location at, const std::optional<Bytes>& first, Bytes first_bytes,
                                        Bytes bytes, bool arrives) {
  constexpr std::uint64_t kKey = ~std::uint64_t{0};
  RuleBlock block;
  block.at = at;
  block.bytes = first_bytes;
  block.offset = first;
  blocks_.emplace(kKey, block);
  const std::optional<Bytes> second = take(at, bytes, arrives);
  blocks_.erase(kKey);
  return second;
}

bool Rules::has_pieces(Location at, Bytes first, Bytes second, bool arrive) const {
  if (arenas_.count(at) == 0) return true;
  Rules copy = *this;
  const std::optional<Bytes> offset = copy.take(at, first, arrive);
  return offset && copy.take_beside(at, offset, first, second, arrive);
}

}  // namespace fheres::lockstep
