#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include <fheres/control/controller.hpp>
#include <fheres/residency/errors.hpp>

namespace fheres::control {
namespace {

std::uint64_t next_controller() {
  static std::atomic<std::uint64_t> next{1};
  return next++;
}

// R62: exactly the cuda locations that the request names, each with a stream of its device.
void check_consumers(const Request& request, const ConsumerStreams& consumers) {
  for (const Requirement& wanted : request.require) {
    if (!wanted.at.is_cuda() || consumers.count(wanted.at) != 0) continue;
    throw std::invalid_argument(fmt::format("request `{}` needs a consumer stream at {}, none is given",
                                            request.name, wanted.at.name()));
  }
  for (const auto& [at, stream] : consumers) {
    const bool named =
        at.is_cuda() && std::any_of(request.require.begin(), request.require.end(),
                                    [at = at](const Requirement& wanted) { return wanted.at == at; });
    if (!named) {
      throw std::invalid_argument(
          fmt::format("request `{}` has a consumer stream for {} and requires nothing there that takes one",
                      request.name, at.name()));
    }
    if (!stream || stream.device() != at) {
      throw std::invalid_argument(fmt::format("the consumer stream for {} {}", at.name(),
                                              stream ? "is one of " + stream.device().name() : "is empty"));
    }
  }
}

}  // namespace

Controller::Controller(residency::Manager& manager, std::shared_ptr<const Policy> policy,
                       DecideOptions options)
    : manager_(manager), policy_(std::move(policy)), options_(options), id_(next_controller()) {
  if (policy_ == nullptr) throw std::invalid_argument("a controller needs a policy, none is given");
}

void Controller::set_metadata(HandleId value, std::int64_t priority, std::optional<std::string> stable_key) {
  manager_.spec(value);  // raises unless it is live
  const std::lock_guard lock(mutex_);
  if (stable_key) {
    const std::optional<HandleId> owner = metadata_.owner_of(*stable_key);
    if (owner && *owner != value) {
      try {
        manager_.spec(*owner);
      } catch (const residency::HandleError&) {
        metadata_.forget(*owner);
      }
    }
  }
  metadata_.set(value, priority, std::move(stable_key));
}

Metadata Controller::metadata(HandleId value) const {
  manager_.spec(value);
  const std::lock_guard lock(mutex_);
  return metadata_.of(value);
}

Outcome Controller::try_decide(const Request& request) {
  const residency::State state = manager_.planning_state();
  const std::lock_guard lock(mutex_);
  Outcome outcome = control::decide(state, request, *policy_, metadata_, options_);
  if (auto* decision = std::get_if<Decision>(&outcome)) decision->controller = id_;
  return outcome;
}

Decision Controller::decide(const Request& request) { return decision_or_throw(try_decide(request)); }

residency::Scope Controller::scope(const Decision& decision, residency::TransferStreams streams) {
  if (decision.manager != manager_.manager_id() || decision.controller != id_) {  // R61
    throw std::invalid_argument(
        fmt::format("the decision for `{}` is one of another {}", decision.request,
                    decision.manager != manager_.manager_id() ? "manager" : "controller"));
  }
  return manager_.scope(decision.plan, std::move(streams), decision.expected_version);
}

Use Controller::use(const Request& request, const ConsumerStreams& consumers,
                    residency::TransferStreams transfers) {
  check_consumers(request, consumers);
  Decision decision = decide(request);
  residency::Scope scope = this->scope(decision, std::move(transfers));
  Use use(std::move(decision), std::move(scope));
  use.scope_.enter();
  // What throws from here on leaves through Use's destructor, which releases what was entered.
  std::map<Location, std::vector<HandleId>> endpoints;
  for (const Requirement& wanted : request.require) endpoints[wanted.at].push_back(wanted.value);
  std::vector<HandleId> used;
  for (const auto& [at, values] : endpoints) {
    const auto consumer = consumers.find(at);
    use.leases_.emplace(
        at, manager_.acquire(values, at, consumer == consumers.end() ? memory::Stream{} : consumer->second));
    used.insert(used.end(), values.begin(), values.end());
  }
  const std::lock_guard lock(mutex_);
  metadata_.touch(used);
  return use;
}

}  // namespace fheres::control
