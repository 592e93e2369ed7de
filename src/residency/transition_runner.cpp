#include "residency/transition_runner.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/base/clock.hpp>

namespace fheres::residency {
namespace {

using Work = Transition::Work;

// The device whose stream makes the copy, if there is one.
std::optional<Location> copy_device(std::optional<Location> source, std::optional<Location> destination) {
  if (destination && destination->is_cuda()) return destination;
  if (source && source->is_cuda()) return source;
  return std::nullopt;
}

// One action on its way through storage.
class Runner {
 public:
  Runner(Core& core, const StreamChoice& streams) : core_(core), streams_(streams) {}

  TransitionReport run(const Action& action) {
    TransitionReport report;
    report.start_ns = now_ns();
    begin(action);
    report.device_before = core_.observe(device());
    if (t_.installs()) {
      try {
        make_it();
      } catch (...) {
        undo();
        throw;
      }
    }
    finish(report);
    return report;
  }

 private:
  void make_it() {
    if (t_.work == Work::copy) return copy_from_replica();
    if (t_.work == Work::load) return load();
    expand();
  }

  std::optional<Location> device() const { return copy_device(t_.source, t_.destination); }

  void begin(const Action& action) {
    const std::lock_guard lock(core_.mutex);
    core_.reap();
    if (streams_.given != nullptr && *streams_.given) {
      const auto resolved = core_.state.resolve(action);
      if (const auto* refusal = std::get_if<Refusal>(&resolved)) raise(*refusal, core_.state);
      check_stream(*streams_.given, std::get<Transition>(resolved));
    }
    const auto begun = core_.state.begin(action);
    if (const auto* refusal = std::get_if<Refusal>(&begun)) raise(*refusal, core_.state);
    t_ = std::get<Transition>(begun);
    if (t_.charge != 0) core_.note_peak(*t_.destination);
    if (t_.temporary != 0) core_.note_peak(t_.temporary_at());
    if (t_.staging != 0) core_.note_peak(Location::pinned_host());
  }

  memory::Stream stream() {
    if (streams_.given != nullptr && *streams_.given) return *streams_.given;
    if (streams_.by_destination != nullptr) {
      const auto found = streams_.by_destination->find(*t_.destination);
      if (found != streams_.by_destination->end()) return found->second;
    }
    return core_.transfer_stream(*device());
  }

  memory::Block make(Location at, Bytes bytes) {
    Core::Made made = core_.make_block(at, bytes, end_for(t_));
    compacted_ += made.compacted;
    return std::move(made.block);
  }

  Stored& stored() { return core_.stored[value_of(t_.action).serial]; }

  void copy_from_replica() {
    memory::Block* source = stored().find(*t_.source);
    FHERES_CHECK(source != nullptr);
    made_ = make(*t_.destination, source->bytes());
    come_after_arrival_of(value_of(t_.action));
    transfer(made_, *source);
  }

  // What is read may itself be arriving still.
  void come_after_arrival_of(HandleId value) {
    if (device()) {
      core_.order_after_arrivals(t_.staging != 0 ? core_.transfer_stream(*t_.source) : stream(), {&value, 1},
                                 *t_.source);
    } else {
      core_.await(value, *t_.source);
    }
  }

  // R66
  void expand() {
    memory::Block* const backing = core_.stored[t_.backing->serial].find(*t_.source);
    FHERES_CHECK(backing != nullptr);
    const Location to = *t_.destination;
    if (t_.has_temporary()) temporary_ = make(to, backing->bytes());
    made_ = make(to, t_.block_bytes);
    come_after_arrival_of(*t_.backing);
    const memory::Block& from = t_.has_temporary() ? temporary_ : *backing;
    const auto fill = [&](const memory::Stream& work) {
      const auto spec_of = [&](HandleId value) { return core_.state.record(value).spec; };
      (*stored().expand)({to, from.data(), from.bytes(), spec_of(*t_.backing)},
                         {to, made_.data(), made_.bytes(), spec_of(value_of(t_.action))}, work);
    };
    if (to.is_host()) {
      if (t_.has_temporary()) transfer(temporary_, *backing);
      fill({});
      return;
    }
    if (t_.has_temporary()) send(temporary_, *backing);
    in_flight_ = stream();
    fill(in_flight_);
    arrive();
  }

  void load() {
    const auto spec = core_.state.record(value_of(t_.action)).spec;
    const Location at = *t_.source;
    const memory::Stream work = at.is_cuda() ? load_stream() : memory::Stream{};
    LoadContext context(*spec, core_.region(at), work, [this, at](Bytes bytes) { return make(at, bytes); });
    Loaded loaded = call(*stored().source, context);
    temporary_ = std::move(loaded.block);
    if (work) {
      // What the source queued may still write the block: until it is known to be over, undo must not free it.
      in_flight_ = work;
      core_.driver->synchronize(work);
      in_flight_ = {};
    }
    check(temporary_, loaded.type, *spec, at);
    if (at == *t_.destination) {
      made_ = std::move(temporary_);
      return;
    }
    made_ = make(*t_.destination, temporary_.bytes());
    transfer(made_, temporary_);
  }

  memory::Stream load_stream() {
    return t_.destination == t_.source || !t_.destination->is_cuda() ? stream()
                                                                     : core_.transfer_stream(*t_.source);
  }

  // R18: the manager is closed to everybody while the callback runs.
  Loaded call(const Source& source, LoadContext& context) {
    struct Loading {
      explicit Loading(Core& c) : core(c) {
        const std::lock_guard lock(core.mutex);
        core.loading = true;
        core.lock_is_free.notify_all();
      }
      ~Loading() {
        const std::lock_guard lock(core.mutex);
        core.loading = false;
      }
      Core& core;
    } loading(core_);
    return source(context);
  }

  // R17
  static void check(const memory::Block& block, const std::string& type, const ValueSpec& spec, Location at) {
    const auto refuse = [&](const std::string& what) {
      throw MaterializationError(fmt::format("the source of '{}' made {}", spec.name, what));
    };
    if (!block) refuse("no block");
    if (!type.empty() && type != spec.type) refuse(fmt::format("a '{}', expected '{}'", type, spec.type));
    if (block.at() != at) refuse(fmt::format("a block at {}, expected {}", block.at().name(), at.name()));
    if (block.bytes() < spec.logical_bytes || block.bytes() > spec.storage_bytes)
      refuse(fmt::format("{} B, expected {} to {} B", block.bytes(), spec.logical_bytes, spec.storage_bytes));
  }

  void transfer(const memory::Block& destination, const memory::Block& source) {
    if (source.bytes() == 0 && !t_.asynchronous) return;
    if (!device()) {
      core_.driver->copy_host(destination.extent(), source.extent());
      return;
    }
    send(destination, source);
    arrive();
  }

  // Queues the copy.
  void send(const memory::Block& destination, const memory::Block& source) {
    memory::Driver& driver = *core_.driver;
    const memory::Block* from = &source;
    memory::Event staged;
    if (t_.staging !=
        0) {  // R64: out on a stream of the source's device, then in on one of the destination's
      staging_ = make(Location::pinned_host(), source.bytes());
      staging_in_flight_ = core_.transfer_stream(*t_.source);
      if (source.bytes() != 0) driver.copy(staging_in_flight_, staging_.extent(), source.extent());
      staged = driver.record(staging_in_flight_);
      from = &staging_;
    }
    in_flight_ = stream();
    if (staged) driver.wait(in_flight_, staged);
    if (source.bytes() != 0) driver.copy(in_flight_, destination.extent(), from->extent());
  }

  // All that makes the block is queued.
  void arrive() {
    memory::Driver& driver = *core_.driver;
    ready_ = driver.record(in_flight_);
    if (t_.asynchronous) {
      arrives_in_ = in_flight_;
    } else {
      driver.synchronize(ready_);  // R19: complete before it is installed
    }
    in_flight_ = staging_in_flight_ = {};
  }

  // R20
  void undo() noexcept {
    if (in_flight_ || staging_in_flight_) {
      // The copy may still run: its storage must not be given to somebody else before it is over.
      try {
        for (const memory::Stream& stream : {staging_in_flight_, in_flight_})
          if (stream) core_.driver->synchronize(stream);
      } catch (...) {
        if (made_) keep_forever(std::move(made_));
        if (temporary_) keep_forever(std::move(temporary_));
        if (staging_) keep_forever(std::move(staging_));
        const std::lock_guard lock(core_.mutex);
        core_.warnings.push_back(
            "a failed copy could not be waited for: its storage is kept until the process ends");
      }
    }
    made_ = {};
    temporary_ = {};
    staging_ = {};
    const std::lock_guard lock(core_.mutex);
    core_.state.abort(t_);
  }

  void finish(TransitionReport& report) {
    std::vector<memory::Block> freed;
    {
      const std::lock_guard lock(core_.mutex);
      if (t_.destination) core_.note_peak(*t_.destination);
      if (t_.source) core_.note_peak(*t_.source);
      if (t_.staging != 0) core_.note_peak(Location::pinned_host());
      core_.state.commit(t_, made_.bytes());
      if (t_.asynchronous)
        core_.note_arrival({value_of(t_.action), *t_.destination, std::move(arrives_in_), std::move(ready_),
                            std::move(staging_), std::move(temporary_), core_.transitions});
      Stored& mine = stored();
      if (made_) mine.blocks.push_back({*t_.destination, std::move(made_)});
      const bool all = std::holds_alternative<Discard>(t_.action);
      std::erase_if(mine.blocks, [&](Placed& p) {
        const bool goes = all || (t_.removes_source && p.at == *t_.source);
        if (goes) freed.push_back(std::move(p.block));
        return goes;
      });
      if (all) {
        mine.source.reset();
        mine.expand.reset();
      }
    }
    freed.clear();
    temporary_ = {};
    staging_ = {};
    report.action = t_.action;
    report.work = t_.work;
    report.no_op_reason = t_.no_op_reason;
    report.source = t_.source;
    report.destination = t_.destination;
    report.bytes = t_.bytes;
    report.expanded_from = t_.backing;
    report.temporary_bytes = t_.temporary;
    report.compacted = compacted_;
    report.asynchronous = t_.asynchronous;
    report.device_after = core_.observe(device());
    report.end_ns = now_ns();
    if (t_.asynchronous) report.queued_ns = report.end_ns;
    const std::lock_guard lock(core_.mutex);
    report.sequence = core_.transitions;
    report.arriving = t_.asynchronous && core_.arriving(value_of(t_.action), *t_.destination) != nullptr;
    core_.record(report);
  }

  Core& core_;
  const StreamChoice& streams_;
  Transition t_;
  memory::Block made_;
  memory::Block temporary_;
  Bytes compacted_ = 0;
  memory::Block staging_;
  memory::Stream in_flight_;  // a copy that is not known to be complete
  memory::Stream staging_in_flight_;
  memory::Stream arrives_in_;
  memory::Event ready_;
};

}  // namespace

TransitionReport run_transition(Core& core, const Action& action, const StreamChoice& streams) {
  return Runner(core, streams).run(action);
}

void check_stream(const memory::Stream& stream, const Transition& t) {
  if (!stream) return;
  // A no-op at a host destination resolves no source, so any device may have been meant.
  std::optional<Location> device = copy_device(t.source, t.destination);
  const bool installs = std::holds_alternative<Ensure>(t.action) || std::holds_alternative<Move>(t.action);
  if (installs && !device && t.work == Work::nothing) device = stream.device();
  if (!installs || !device)
    throw std::invalid_argument(
        fmt::format("a stream of {} for a transition without a device copy", stream.device().name()));
  if (*device != stream.device())
    throw std::invalid_argument(
        fmt::format("a stream of {} for a copy of {}", stream.device().name(), device->name()));
}

void check_streams(const TransferStreams& streams) {
  for (const auto& [destination, stream] : streams) {
    if (!stream)
      throw std::invalid_argument(fmt::format("the transfer stream of {} is empty", destination.name()));
    if (destination.is_cuda() && stream.device() != destination)
      throw std::invalid_argument(
          fmt::format("the transfer stream of {} is of {}", destination.name(), stream.device().name()));
  }
}

void check_streams(const TransferStreams& streams, std::span<const ActionExplanation> actions) {
  for (const ActionExplanation& a : actions) {
    if (a.bytes == 0 || !a.source || !a.source->is_cuda() || !a.destination || !a.destination->is_host())
      continue;
    const auto found = streams.find(*a.destination);
    if (found != streams.end() && found->second.device() != *a.source)
      throw std::invalid_argument(fmt::format("the transfer stream of {} is of {}, but {}[{}] copies from {}",
                                              a.destination->name(), found->second.device().name(),
                                              name(a.phase), a.index, a.source->name()));
  }
}

}  // namespace fheres::residency
