#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "residency/world.hpp"
#include "support/faulty_driver.hpp"

namespace fheres::residency::test {

struct SourceFailed : std::runtime_error {
  SourceFailed() : std::runtime_error("the source failed, as asked") {}
};

/// What can be made to fail: a kind of driver call, or a source before or after it has its block.
enum class Fault { allocate, copy, record, wait, enqueue, synchronize, source, source_with_block };
inline constexpr Fault kFaults[] = {
    Fault::allocate, Fault::copy,        Fault::record, Fault::wait,
    Fault::enqueue,  Fault::synchronize, Fault::source, Fault::source_with_block};
inline constexpr const char* kFaultNames[] = {"allocation", "copy",        "event",  "wait",
                                              "enqueue",    "synchronize", "source", "source with its block"};

/// A manager on the stepped driver in which the k-th call of a kind fails, and which knows what was committed.
class FaultBench {
 public:
  explicit FaultBench(std::map<Location, Bytes> budgets)
      : machine(memory::make_stepped_driver({.devices = 2})),
        faulty(std::make_shared<fheres::test::FaultyDriver>(machine)),
        budgets_(std::move(budgets)) {
    ManagerOptions options;
    options.budgets = budgets_;
    options.warn = [](const std::string&) {};
    manager = std::make_unique<Manager>(faulty, options);
    consumer = faulty->make_stream(kDevice, "consumer");
  }

  HandleId put(const std::string& name, Bytes bytes, Location at, unsigned char fill) {
    Allocation block = manager->allocate(at, bytes);
    std::memset(block.data(), fill, bytes);
    return filled(manager->adopt(std::move(block), at, make_spec(name, bytes)), fill);
  }
  HandleId source(const std::string& name, Bytes bytes, Location at, unsigned char fill) {
    const auto load = [this, fill](LoadContext& context) {
      if (due(Fault::source)) throw SourceFailed();
      memory::Block block = context.allocate();
      std::memset(block.data(), fill, block.bytes());
      if (due(Fault::source_with_block)) throw SourceFailed();
      return block;
    };
    return filled(manager->register_source(reconstructible(name, bytes), load, at), fill);
  }
  HandleId announce(const std::string& name, Bytes bytes, unsigned char fill) {
    return filled(manager->announce(make_spec(name, bytes)), fill);
  }
  HandleId filled(HandleId value, unsigned char fill) {
    fills_[value.serial] = fill;
    return value;
  }

  /// Of every transition that returned, and of what plans report, in order.
  void committed(const TransitionReport& report) { committed_.push_back(report.action); }
  void committed(const PlanReport& report) {
    for (const ActionReport& action : report.actions) {
      if (action.phase == Phase::exit) append_adopted();
      committed_.push_back(action.transition.action);
    }
    append_adopted();
  }
  /// The body of a plan gave this value its bytes there, which the plan's report does not tell.
  void adopted(HandleId value, Location at) { adopted_.push_back({value, at}); }
  /// Runs a scope's body, and notes what its report says was committed, also where it fails.
  void run(Scope scope, const std::function<void(Scope&)>& body) {
    try {
      scope.run(body);
    } catch (...) {
      committed(scope.report());
      throw;
    }
    committed(scope.report());
  }

  void arm(Fault fault, std::uint64_t k) {
    before_ = manager->planning_state();
    committed_.clear();
    adopted_.clear();
    if (fault < Fault::source) faulty->fail(static_cast<fheres::test::Call>(fault), k);
    fault_ = fault;
    source_calls_ = 0;
    source_fails_at_ = fault < Fault::source ? 0 : k;
    failures_before_ = faulty->failures();
    source_failed_ = false;
  }
  /// Whether there was a k-th call.
  bool disarm() {
    faulty->disarm();
    source_fails_at_ = 0;
    return source_failed_ || faulty->failures() != failures_before_;
  }

  /// What was committed, done by State alone from where it was, gives what is there now; nothing else has changed.
  void check_committed() {
    State expected = *before_;
    for (const Step& step : committed_) {
      if (const auto* adopted = std::get_if<Adopted>(&step)) {
        const Bytes bytes = expected.record(adopted->value).spec->storage_bytes;
        const auto payer = std::get<ReservationId>(expected.reserve({adopted->at, bytes, "output"}));
        CHECK_FALSE(expected.adopt(adopted->value, adopted->at, bytes, payer).has_value());
        expected.release(payer);
        continue;
      }
      const Action& action = std::get<Action>(step);
      for (const Location at : expected.arrivals_in_the_way(action)) expected.settle(value_of(action), at);
      CHECK(std::holds_alternative<Transition>(expected.apply(action)));
    }
    machine->run_until_idle();
    const State now = manager->planning_state();
    for (std::size_t serial = 0; serial < expected.records().size(); ++serial) {
      const HandleId value = expected.handle(serial);
      CAPTURE(now.record(value).spec->name);
      std::vector<std::string> wanted, got;
      for (const Materialization& m : expected.record(value).materializations) wanted.push_back(m.at.name());
      for (const Materialization& m : now.record(value).materializations) {
        got.push_back(m.at.name());
        CHECK_FALSE(m.protection.any());
      }
      CHECK(wanted == got);
    }
    check_accounts(now);
  }

  void check_accounts(const State& now) {
    const std::vector<Account> counted = now.recount();
    const Snapshot seen = manager->snapshot();
    for (std::size_t i = 0; i < counted.size(); ++i) {
      const Account& account = now.accounts()[i];
      CAPTURE(account.at.name());
      CHECK(counted[i].used == account.used);
      CHECK(counted[i].reserved == account.reserved);
      CHECK(account.reserved == 0);
      Bytes blocks = 0;
      for (const ValueRecord& record : now.records())
        if (const Materialization* m = record.at(account.at)) blocks += round_up_to_granule(m->actual_bytes);
      CHECK(seen.at(account.at)->allocated == blocks);
    }
    CHECK(now.reservations().empty());
  }

  /// Every byte of every materialization.
  void check_contents() {
    const State now = manager->planning_state();
    for (std::size_t serial = 0; serial < now.records().size(); ++serial) {
      for (const Materialization& m : now.records()[serial].materializations) {
        CAPTURE(now.records()[serial].spec->name);
        CAPTURE(m.at.name());
        const HandleId value = now.handle(serial);
        Lease lease = manager->acquire({value}, m.at,
                                       m.at.is_cuda() ? faulty->make_stream(m.at, "look") : memory::Stream{});
        machine->run_until_idle();
        const BlockView view = lease.view(value);
        const auto wrong = std::find_if(view.data, view.data + view.bytes,
                                        [&](std::byte b) { return b != std::byte{fills_.at(serial)}; });
        CHECK(wrong == view.data + view.bytes);
        lease.release(true);
      }
    }
  }

  /// Everything goes, and nothing is left anywhere.
  void check_no_leak() {
    const State now = manager->planning_state();
    for (std::size_t serial = 0; serial < now.records().size(); ++serial) {
      if (now.records()[serial].discarded) continue;
      for (const Materialization& m : now.records()[serial].materializations)
        manager->settle(now.handle(serial), m.at);
      manager->discard(now.handle(serial));
    }
    const Snapshot seen = manager->snapshot();
    for (const LocationSnapshot& l : seen.locations) {
      CAPTURE(l.account.at.name());
      CHECK(l.account.used + l.account.reserved == 0);
      CHECK(l.allocated == 0);
      if (l.account.budget && l.account.at != kPageable) CHECK(l.largest_free == *l.account.budget);
    }
    manager->close();
    manager.reset();
    CHECK(faulty->live() == 0);
  }

  std::shared_ptr<memory::SteppedDriver> machine;
  std::shared_ptr<fheres::test::FaultyDriver> faulty;
  std::unique_ptr<Manager> manager;
  memory::Stream consumer;

 private:
  struct Adopted {
    HandleId value;
    Location at;
  };
  using Step = std::variant<Action, Adopted>;

  void append_adopted() {
    committed_.insert(committed_.end(), adopted_.begin(), adopted_.end());
    adopted_.clear();
  }
  bool due(Fault fault) {
    if (source_fails_at_ == 0 || fault != fault_ || ++source_calls_ != source_fails_at_) return false;
    return source_failed_ = true;
  }

  std::map<Location, Bytes> budgets_;
  std::map<std::uint64_t, unsigned char> fills_;
  std::optional<State> before_;
  std::vector<Step> committed_;
  std::vector<Adopted> adopted_;
  Fault fault_{};
  std::uint64_t source_calls_ = 0, source_fails_at_ = 0, failures_before_ = 0;
  bool source_failed_ = false;
};

/// Something to do on a bench, that can be done again after `undo`.
struct Scenario {
  std::map<Location, Bytes> budgets;
  std::function<void(FaultBench&)> prepare;
  std::function<void(FaultBench&)> act;
  std::function<void(FaultBench&)> undo;
};

/// For each kind of fault and each k: the k-th call fails; accounts equal a recount, what is there is what was
/// committed before, the same thing works afterwards, and nothing is left when the manager closes. Returns how many
/// faults there were.
inline int fail_at_every_call(const Scenario& scenario) {
  int faults = 0;
  for (const Fault fault : kFaults) {
    for (std::uint64_t k = 1;; ++k) {
      CAPTURE(std::string(kFaultNames[static_cast<int>(fault)]));
      CAPTURE(k);
      FaultBench bench(scenario.budgets);
      scenario.prepare(bench);
      bench.arm(fault, k);
      bool failed = false;
      try {
        scenario.act(bench);
      } catch (const Error&) {
        failed = true;
      } catch (const SourceFailed&) {
        failed = true;
      }
      const bool hit = bench.disarm();
      REQUIRE((hit || !failed));
      if (!hit) break;  // there is no k-th call
      ++faults;
      bench.check_committed();
      bench.check_contents();
      scenario.undo(bench);
      bench.arm(fault, 0);
      CHECK_NOTHROW(scenario.act(bench));
      bench.check_committed();
      bench.check_contents();
      bench.check_no_leak();
    }
  }
  return faults;
}

}  // namespace fheres::residency::test
