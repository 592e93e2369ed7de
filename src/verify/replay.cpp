#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <fheres/verify/replay.hpp>

#include "verify/books.hpp"
#include "verify/holdings.hpp"
#include "verify/judge.hpp"

namespace fheres::verify {
namespace {

using workload::NamedAction;
using workload::Place;
using workload::ProgramStage;
using workload::Requirement;

class Replayer {
 public:
  Replayer(const workload::Program& program, std::span<const std::vector<Requirement>> required)
      : program_(program), world_(program.world), required_(required), books_(world_), holdings_(world_) {}

  Replay run() {
    if (!backings_are_there()) return std::move(result_);
    place_values();
    for (stage_ = 0; stage_ < program_.stages.size(); ++stage_) run_stage(program_.stages[stage_]);
    result_.locations = books_.figures();
    for (const LocationFigures& figures : result_.locations) result_.compacted_bytes += figures.compacted;
    return std::move(result_);
  }

 private:
  struct Reservation {
    Location at = Location::pageable_host();
    Bytes left = 0;
  };

  // ---- Initial placement

  bool backings_are_there() {
    for (ValueIndex i = 0; i < world_.values.size(); ++i) {
      const auto& backing = world_.values[i].backing;
      if (!backing || (*backing < world_.values.size() && !world_.values[*backing].backing)) continue;
      now(Phase::placement, i, world_.values[i].name.place);
      report(66, fmt::format("{} is expanded from a value that is expanded itself, or is not there",
                             world_.values[i].name.text));
    }
    return result_.sound();
  }

  void place_values() {
    now(Phase::placement, 0, {});
    // What another value is expanded from is there before it.
    for (const bool backed : {false, true}) {
      for (ValueIndex i = 0; i < world_.values.size(); ++i) {
        if (world_.values[i].backing.has_value() == backed) place_value(i);
      }
    }
    result_.moved_bytes = 0;
  }

  void place_value(ValueIndex index) {
    const workload::Value& value = world_.values[index];
    now(Phase::placement, index, value.name.place);
    if (value.spec.storage_bytes < value.spec.logical_bytes || value.spec.storage_bytes % kGranule != 0) {
      report(7, fmt::format("{} is charged {} for {}, expected whole granules of {} that hold it",
                            value.name.text, format_exact_bytes(value.spec.storage_bytes),
                            format_exact_bytes(value.spec.logical_bytes), kGranule));
    }
    if (value.produced_by) return;
    bool is_first = !value.backing && !value.source;
    if (value.backing && holdings_[*value.backing].copies.empty()) {
      report(66, fmt::format("{} starts nowhere, so {} cannot be expanded from it",
                             world_.values[*value.backing].name.text, value.name.text));
    }
    if (is_first && value.at.empty())
      report(4, fmt::format("{} starts nowhere, and nothing makes it", value.name.text));
    for (const Location at : value.at) {
      if (!std::exchange(is_first, false)) {
        act({Deed::Kind::ensure, index, at, {}});
      } else {  // R4
        admit(at, value.spec.storage_bytes, value.name.text + " ");
        books_.charge(at, value.spec.storage_bytes, 0);
        books_.note(at);
        slid_ = false;
        take(at, key_of(BlockOf::value, index), value.spec.logical_bytes, value.name.text);
        holdings_[index].add(at);
      }
    }
  }

  // ---- A stage

  void run_stage(const ProgramStage& stage) {
    books_.begin(stage.name.text);
    now(Phase::body, 0, stage.name.place);
    if (stage.name.text.empty()) report(39, "the stage has no name");
    act_all(Phase::reclaim, stage.reclaim);
    admit_reservations(stage);
    act_all(Phase::enter, stage.enter);
    act_all(Phase::prefetch, stage.prefetch);
    check_required(stage);
    carve(stage);
    produce(stage);
    for (std::size_t i = 0; i < stage.workspace.size(); ++i) {
      if (stage.workspace[i].from < reservations_.size())
        give_back(reservations_[stage.workspace[i].from].at, key_of(BlockOf::workspace, i));
    }
    settle_read(stage);
    act_all(Phase::exit, stage.exit);
    for (const Reservation& reservation : reservations_)
      books_.discharge(reservation.at, 0, reservation.left);
    reservations_.clear();
    for (std::size_t i = 0; i < stage.release.size(); ++i) release(i, stage.release[i]);
  }

  void act_all(Phase phase, const std::vector<NamedAction>& actions) {
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const NamedAction& action = actions[i];
      now(phase, i, action.place);
      ++result_.actions;
      if (!is_known(action.value)) continue;
      Deed deed{Deed::Kind::ensure, action.value, action.at, action.from};
      if (action.verb == NamedAction::Verb::move) deed.kind = Deed::Kind::move;
      if (action.verb == NamedAction::Verb::drop) deed.kind = Deed::Kind::drop;
      if (phase == Phase::prefetch) {
        if (deed.kind != Deed::Kind::ensure) {
          report(21, fmt::format("{}: only an ensure can arrive later", text(deed, world_)));
          continue;
        }
        deed.kind = Deed::Kind::prefetch;
      }
      act(deed);
    }
  }

  void act(const Deed& deed) {
    slid_ = false;
    if (const auto gone = taken_from(deed, holdings_))
      settle_all(holdings_.arrivals_at(deed.value, gone));  // R23
    // What is to be there, and not to arrive, is waited for where it is on its way.
    const Copy* there = holdings_[deed.value].find(deed.at);
    if (deed.kind == Deed::Kind::ensure && there != nullptr && there->arrival)
      settle_all({{deed.value, deed.at}});
    const auto judged = judge(deed, holdings_, world_);
    if (const auto* no = std::get_if<No>(&judged)) {
      report(no->rule, fmt::format("{}: {}", text(deed, world_), no->why));
    } else {
      carry_out(deed, std::get<Effect>(judged));
    }
  }

  void carry_out(const Deed& deed, const Effect& effect) {
    if (effect.by != Effect::By::nothing) install(deed, effect);
    if (!effect.removes) return;
    books_.discharge(effect.removed, world_.values[deed.value].spec.storage_bytes, 0);  // R15: after install
    give_back(effect.removed, key_of(BlockOf::value, deed.value));
    holdings_[deed.value].remove(effect.removed);
  }

  void install(const Deed& deed, const Effect& effect) {
    const workload::Value& value = world_.values[deed.value];
    const std::string what = text(deed, world_) + ": ";
    const bool together = effect.temporary != 0 && effect.temporary_at == deed.at;
    const Location pinned = Location::pinned_host();
    if (together) {
      admit(deed.at, checked_add(effect.charge, effect.temporary), what + "with what it is expanded from, ");
    } else {
      admit(deed.at, effect.charge, what);
      if (effect.temporary != 0) admit(effect.temporary_at, effect.temporary, what + "to make it first, ");
    }
    if (effect.staging != 0) admit(pinned, effect.staging, what + "as staging, ");
    books_.charge(deed.at, effect.charge, 0);
    if (effect.temporary != 0) books_.charge(effect.temporary_at, 0, effect.temporary);
    if (effect.staging != 0) books_.charge(pinned, 0, effect.staging);
    for (const Location at : {deed.at, effect.temporary != 0 ? effect.temporary_at : deed.at,
                              effect.staging != 0 ? pinned : deed.at})
      books_.note(at);

    const bool expands = effect.by == Effect::By::expansion;
    const auto temporary = key_of(expands ? BlockOf::backing : BlockOf::loaded, deed.value, deed.at);
    const auto staging = key_of(BlockOf::staging, deed.value, deed.at);
    if (effect.temporary != 0) take(effect.temporary_at, temporary, effect.moved, what, effect.arrives);
    take(deed.at, key_of(BlockOf::value, deed.value), value.spec.logical_bytes, what, effect.arrives);
    if (effect.temporary != 0 && !effect.arrives) give_back(effect.temporary_at, temporary);
    if (effect.staging != 0) take(pinned, staging, effect.moved, what, effect.arrives);
    if (effect.staging != 0 && !effect.arrives) give_back(pinned, staging);

    holdings_[deed.value].add(deed.at);
    result_.moved_bytes = checked_add(result_.moved_bytes, effect.moved);
    if (effect.arrives) {
      holdings_[deed.value].find(deed.at)->arrival =
          Arrival{effect.source, effect.reads, effect.staging, effect.temporary};
      ++holdings_[effect.reads].find(effect.source)->readers;
    } else {
      if (effect.temporary != 0) books_.discharge(effect.temporary_at, 0, effect.temporary);
      if (effect.staging != 0) books_.discharge(pinned, 0, effect.staging);
    }
  }

  /// The body has waited for what it reads: it has arrived (R23).
  void settle_read(const ProgramStage& stage) {
    for_each_required(stage, [&](const Requirement& item) {
      if (item.value >= holdings_.size()) return;
      const Copy* copy = holdings_[item.value].find(item.at);
      if (copy != nullptr && copy->arrival) settle_all({{item.value, item.at}});
    });
  }

  void settle_all(const std::vector<Holdings::Place>& arrivals) {
    for (const Holdings::Place& place : arrivals) {
      Copy& copy = *holdings_[place.value].find(place.at);
      const Arrival arrival = *copy.arrival;
      copy.arrival.reset();
      --holdings_[arrival.reads].find(arrival.from)->readers;
      books_.discharge(place.at, 0, arrival.temporary);
      books_.discharge(Location::pinned_host(), 0, arrival.staging);
      give_back(place.at, key_of(BlockOf::backing, place.value, place.at));
      give_back(Location::pinned_host(), key_of(BlockOf::staging, place.value, place.at));
    }
  }

  void admit_reservations(const ProgramStage& stage) {
    for (std::size_t i = 0; i < stage.reserve.size(); ++i) {
      const residency::ReservationSpec& spec = stage.reserve[i].spec;
      now(Phase::reserve, i, stage.reserve[i].place);
      ++result_.actions;
      if (spec.label.empty()) report(36, fmt::format("the reservation at {} has no label", spec.at.name()));
      const Bytes bytes = round_up_to_granule(spec.bytes);
      admit(spec.at, bytes, fmt::format("reserve {}: ", spec.label));
      books_.charge(spec.at, 0, bytes);
      books_.note(spec.at);
      reservations_.push_back({spec.at, bytes});
    }
  }

  template <class Each>
  void for_each_required(const ProgramStage& stage, const Each& each) {
    for (const Requirement& item : stage.require) each(item);
    if (stage_ >= required_.size()) return;
    for (const Requirement& item : required_[stage_]) each(item);
  }

  void check_required(const ProgramStage& stage) {
    for_each_required(stage, [&](const Requirement& item) {
      now(Phase::body, 0, item.place.known() ? item.place : stage.name.place);
      if (!is_known(item.value) || holdings_.is_at(item.value, item.at)) return;
      report(29, fmt::format("{} is required at {}, and it is {}", world_.values[item.value].name.text,
                             item.at.name(), places(holdings_[item.value])));
    });
  }

  /// What the body carves stays in its reservations, beside what it makes (R38), and needs pieces (R27).
  void carve(const ProgramStage& stage) {
    std::vector<Bytes> taken(reservations_.size(), 0);
    for (const workload::Produced& item : stage.produce) {
      if (item.value < holdings_.size() && item.from < taken.size())
        taken[item.from] = checked_add(taken[item.from], world_.values[item.value].spec.storage_bytes);
    }
    now(Phase::body, 0, stage.name.place);
    slid_ = false;
    gather(stage);
    for (std::size_t i = 0; i < stage.workspace.size(); ++i) {
      const workload::Carved& block = stage.workspace[i];
      if (block.from >= reservations_.size()) {
        report(38, fmt::format("a block of the body comes from reservation {} of {}", block.from,
                               reservations_.size()));
        continue;
      }
      const Reservation& from = reservations_[block.from];
      // Where what it makes is too much by itself, that is said there.
      const bool had_room = taken[block.from] <= from.left;
      taken[block.from] = checked_add(taken[block.from], round_up_to_granule(block.bytes));
      const std::string& label = stage.reserve[block.from].spec.label;
      if (had_room && taken[block.from] > from.left)
        report(38, fmt::format("the body takes {} out of reservation {}, which has {}",
                               format_exact_bytes(taken[block.from]), label, format_exact_bytes(from.left)));
      take(from.at, key_of(BlockOf::workspace, i), block.bytes, fmt::format("a block out of {}: ", label));
    }
  }

  /// Where a body has a workspace, its blocks and what it makes there find one free piece, if sliding can
  /// make one (R27).
  void gather(const ProgramStage& stage) {
    if (stage.workspace.empty() || stage.workspace[0].from >= reservations_.size()) return;
    Account& account = books_.at(reservations_[stage.workspace[0].from].at);
    if (!account.addresses || account.over()) return;
    Bytes all = 0;
    for (const workload::Carved& block : stage.workspace)
      if (block.from < reservations_.size() && reservations_[block.from].at == account.at)
        all = checked_add(all, round_up_to_granule(block.bytes));
    for (const workload::Produced& item : stage.produce)
      if (item.at == account.at && item.value < holdings_.size() && !holdings_[item.value].is_released)
        all = checked_add(all, round_up_to_granule(world_.values[item.value].spec.logical_bytes));
    const auto key = key_of(BlockOf::workspace, stage.workspace.size());
    if (slide_into(account, key, all)) account.addresses->free(key);
  }

  /// R38: what the body makes turns reserved bytes into used ones. Its blocks are carved before (R27).
  void produce(const ProgramStage& stage) {
    for (std::size_t i = 0; i < stage.produce.size(); ++i) {
      const workload::Produced& item = stage.produce[i];
      now(Phase::produce, i, item.place);
      if (item.value >= holdings_.size() || item.from >= reservations_.size()) continue;
      take(reservations_[item.from].at, key_of(BlockOf::output, i),
           world_.values[item.value].spec.logical_bytes,
           fmt::format("produce {}: ", world_.values[item.value].name.text));
    }
    for (std::size_t i = 0; i < stage.produce.size(); ++i) {
      const workload::Produced& item = stage.produce[i];
      now(Phase::produce, i, item.place);
      ++result_.actions;
      if (!is_known(item.value)) continue;
      if (adopt(stage, item) && !reservations_.empty()) {
        if (auto& room = books_.at(item.at).addresses)
          room->rename(key_of(BlockOf::output, i), key_of(BlockOf::value, item.value));
      } else if (item.from < reservations_.size()) {
        give_back(reservations_[item.from].at, key_of(BlockOf::output, i));
      }
    }
  }

  bool adopt(const ProgramStage& stage, const workload::Produced& item) {
    const workload::Value& value = world_.values[item.value];
    const auto no = [&](int rule, const std::string& why) {
      report(rule, fmt::format("produce {} at {}: {}", value.name.text, item.at.name(), why));
      return false;
    };
    Holding& holding = holdings_[item.value];
    if (holding.is_released) return no(6, "it was released before");
    if (holding.is_made) return no(38, "it was there before, and a value is made once");
    if (item.from >= reservations_.size())
      return no(38, fmt::format("it comes from reservation {} of {}", item.from, reservations_.size()));
    Reservation& from = reservations_[item.from];
    const std::string& label = stage.reserve[item.from].spec.label;
    if (from.at != item.at) return no(38, fmt::format("reservation {} is at {}", label, from.at.name()));
    if (from.left < value.spec.storage_bytes) {
      return no(38, fmt::format("it takes {}, and reservation {} has {} left",
                                format_exact_bytes(value.spec.storage_bytes), label,
                                format_exact_bytes(from.left)));
    }
    from.left -= value.spec.storage_bytes;
    books_.discharge(item.at, 0, value.spec.storage_bytes);
    books_.charge(item.at, value.spec.storage_bytes, 0);
    holding.is_made = true;
    holding.add(item.at);
    return true;
  }

  void release(std::size_t index, const workload::Operand& operand) {
    now(Phase::release, index, operand.place);
    ++result_.actions;
    if (!is_known(operand.index)) return;
    const ValueIndex value = operand.index;
    settle_all(holdings_.arrivals_at(value, {}));
    const workload::Value& what = world_.values[value];
    if (const auto no = judge_release(value, holdings_, world_))
      return report(no->rule, fmt::format("release {}: {}", what.name.text, no->why));
    Holding& holding = holdings_[value];
    for (const Copy& copy : holding.copies) {
      books_.discharge(copy.at, what.spec.storage_bytes, 0);
      give_back(copy.at, key_of(BlockOf::value, value));
    }
    holding.copies.clear();
    holding.backs.clear();
    holding.is_released = true;
    if (what.backing) std::erase(holdings_[*what.backing].backs, value);
  }

  // ---- Room

  void admit(Location at, Bytes bytes, const std::string& what) {  // R24
    if (const auto why = books_.refusal(at, bytes)) report(24, what + *why);
  }

  Addresses::Slides slides_at(Location at) const {
    return [this, at](Addresses::Key block) {
      if (kind_of(block) != BlockOf::value) return false;
      const Copy* copy = holdings_[index_of(block)].find(at);
      return copy != nullptr && !copy->is_protected();
    };
  }

  /// False where there is no piece, even so.
  bool slide_into(Account& account, Addresses::Key key, Bytes bytes, bool arrives = false) {
    const auto slid = account.addresses->take(key, bytes, slides_at(account.at), arrives);
    account.compacted += slid.value_or(0);
    if (slid.value_or(0) != 0 && !std::exchange(slid_, true)) ++result_.compactions;
    return slid.has_value();
  }

  void take(Location at, Addresses::Key key, Bytes bytes, const std::string& what, bool arrives = false) {
    Account& account = books_.at(at);  // R27
    if (!account.addresses || account.over()) return;
    if (slide_into(account, key, bytes, arrives)) return;
    const auto slides = slides_at(at);
    const std::string names = describe(account.addresses->fixed(slides), world_);
    report(27,
           fmt::format("{}{} in one piece at {}, and at most {} can be brought together: {} may not slide",
                       what, format_exact_bytes(bytes), at.name(),
                       format_exact_bytes(account.addresses->reachable(slides)), names));
  }

  void give_back(Location at, Addresses::Key key) {
    if (auto& room = books_.at(at).addresses) room->free(key);
  }

  // ---- Where we are

  void now(Phase phase, std::size_t index, const Place& place) {
    phase_ = phase;
    index_ = index;
    place_ = place;
  }

  bool is_known(ValueIndex value) {
    if (value < holdings_.size()) return true;
    report(6, fmt::format("value {} is unknown: there are {}", value, holdings_.size()));
    return false;
  }

  void report(int rule, std::string message) {
    const bool in_stage = phase_ != Phase::placement;
    result_.violations.push_back({rule, in_stage ? program_.stages[stage_].name.text : "", phase_, index_,
                                  place_, std::move(message)});
  }

  const workload::Program& program_;
  const workload::World& world_;
  std::span<const std::vector<Requirement>> required_;
  Books books_;
  Holdings holdings_;
  std::vector<Reservation> reservations_;
  Replay result_;
  std::size_t stage_ = 0;
  Phase phase_ = Phase::placement;
  std::size_t index_ = 0;
  Place place_;
  bool slid_ = false;  // something, for this action or this body
};

}  // namespace

Replay replay(const workload::Program& program, std::span<const std::vector<Requirement>> required) {
  return Replayer(program, required).run();
}

}  // namespace fheres::verify
