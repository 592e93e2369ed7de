#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fheres/base/error.hpp>
#include <fheres/control/controller.hpp>
#include <fheres/report/json.hpp>

#include "support/random.hpp"
#include "support/stream_gate.hpp"

namespace fheres::test {

/// One manager and controller on a driver with a cuda:0, through a random history of adoptions, sources, moves, holds,
/// reservations and served requests: every answer of the controller as JSON, and every refusal by its code.
/// A function of the seed alone: whatever the driver, the text is the same. Every consumer ends after its release and
/// before whatever comes next, because when it ends changes what may leave, and how often the state has changed.
class DecisionHistory {
 public:
  DecisionHistory(std::shared_ptr<memory::Driver> driver, std::uint64_t seed)
      : dice_(seed), driver_(std::move(driver)), stream_(driver_->make_stream(kDevice, "consumer")) {
    residency::ManagerOptions options;
    options.budgets = {{kPinned, 12 * kPage}, {kDevice, 16 * kPage}};
    manager_ = std::make_unique<residency::Manager>(driver_, options);
    const control::DeterministicTieredLRU::Tiers tiers{{kDevice, {kPinned, kPageable}},
                                                       {kPinned, {kPageable}}};
    controller_ = std::make_unique<control::Controller>(
        *manager_, std::make_shared<control::DeterministicTieredLRU>(tiers));
  }

  std::string run(int steps) {
    for (int i = 0; i < steps; ++i) {
      try {
        step();
      } catch (const Error& error) {
        text_ += error.code() + "\n";
      }
    }
    holds_.clear();
    reservations_.clear();
    driver_->synchronize(stream_);
    manager_->close();
    return std::move(text_);
  }

 private:
  static constexpr Bytes kPage = 4096;
  static inline const memory::Location kPageable = memory::Location::pageable_host();
  static inline const memory::Location kPinned = memory::Location::pinned_host();
  static inline const memory::Location kDevice = memory::Location::cuda(0);

  memory::Location place() {
    const memory::Location all[] = {kPageable, kPinned, kDevice};
    return all[dice_.below(3)];
  }
  residency::HandleId value() { return values_[dice_.below(values_.size())]; }

  residency::ValueSpec spec() {
    residency::ValueSpec made;
    made.name = "v" + std::to_string(values_.size());
    made.type = "bytes";
    made.storage_bytes = kPage * (1 + dice_.below(4));
    made.logical_bytes = made.storage_bytes - dice_.below(100);
    if (dice_.chance(3)) made.replica_mode = residency::ReplicaMode::exclusive;
    return made;
  }

  void add_value() {
    residency::ValueSpec made = spec();
    if (dice_.chance(3)) {
      made.recoverability = residency::Recoverability::reconstructible;
      values_.push_back(manager_->register_source(
          made,
          [](residency::LoadContext& context) -> residency::Loaded {
            memory::Block block = context.allocate();
            std::memset(block.data(), 3, block.bytes());
            return block;
          },
          dice_.chance(2) ? kPageable : kPinned));
      return;
    }
    const memory::Location at = dice_.chance(2) ? kPageable : kPinned;
    residency::Allocation block = manager_->allocate(at, made.logical_bytes);
    std::memset(block.data(), 5, block.bytes());
    values_.push_back(manager_->adopt(std::move(block), at, made));
  }

  control::Request request() {
    control::Request made{"r" + std::to_string(requests_++), {}, {}};
    for (std::uint64_t i = 0; i < 1 + dice_.below(4); ++i) {
      const control::Requirement next{value(), dice_.chance(4) ? kPinned : kDevice};
      bool clash = false;
      for (const control::Requirement& r : made.require) clash = clash || r.value == next.value;
      if (!clash) made.require.push_back(next);
    }
    if (dice_.chance(3)) made.reserve.push_back({kDevice, kPage * dice_.below(6), "workspace"});
    return made;
  }

  void decide() {
    const control::Request made = request();
    const control::Outcome outcome = controller_->try_decide(made);
    const auto name = [this](residency::HandleId id) { return manager_->spec(id).name; };
    if (const auto* decision = std::get_if<control::Decision>(&outcome)) {
      text_ += report::render(report::to_json(*decision, name));
    } else if (const auto* infeasible = std::get_if<control::Infeasible>(&outcome)) {
      text_ += report::render(report::to_json(*infeasible));
      return;
    } else {
      text_ += report::render(report::to_json(std::get<control::Inconclusive>(outcome)));
      return;
    }
    control::ConsumerStreams consumers;
    for (const control::Requirement& r : made.require)
      if (r.at == kDevice) consumers[kDevice] = stream_;
    control::Use use = controller_->use(made, consumers);
    text_ += report::render(report::to_json(use.decision(), name));
    {
      StreamGate still_reading(*driver_, stream_);
      use.close();
    }
    driver_->synchronize(stream_);
  }

  void step() {
    if (values_.size() < 4) return add_value();
    switch (dice_.below(9)) {
      case 0:
        if (values_.size() < 14) add_value();
        break;
      case 1:
        manager_->ensure(value(), place());
        break;
      case 2:
        manager_->drop(value(), place());
        break;
      case 3: {
        const residency::HandleId what = value();
        if (holds_.size() < 2) holds_.push_back(manager_->hold({what}, kDevice));
        break;
      }
      case 4:
        if (!holds_.empty()) holds_.pop_back();
        if (!reservations_.empty()) reservations_.pop_back();
        break;
      case 5:
        if (reservations_.empty())
          reservations_.push_back(manager_->reserve(kDevice, kPage * (1 + dice_.below(3)), "others"));
        break;
      case 6:
        controller_->set_metadata(value(), static_cast<std::int64_t>(dice_.below(3)));
        break;
      default:
        decide();
    }
  }

  Random dice_;
  std::shared_ptr<memory::Driver> driver_;
  memory::Stream stream_;
  std::unique_ptr<residency::Manager> manager_;
  std::unique_ptr<control::Controller> controller_;
  std::vector<residency::HandleId> values_;
  std::vector<residency::Hold> holds_;
  std::vector<residency::Reservation> reservations_;
  std::uint64_t requests_ = 0;
  std::string text_;
};

}  // namespace fheres::test
