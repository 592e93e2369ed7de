#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <fheres/control/decision.hpp>
#include <fheres/control/metadata.hpp>
#include <fheres/control/policy.hpp>
#include <fheres/control/request.hpp>
#include <fheres/control/search.hpp>
#include <fheres/control/use.hpp>
#include <fheres/residency/manager.hpp>

namespace fheres::control {

/// Decides for one manager, and runs what was decided through it. Owns no value: it knows priorities, stable keys
/// and when values were last used. The manager and the policy must outlive it. Thread safe where its policy is.
class Controller {
 public:
  Controller(residency::Manager& manager, std::shared_ptr<const Policy> policy, DecideOptions options = {});

  /// R55. Throws std::invalid_argument for a key that is empty or names another live value, HandleError for a value
  /// that is not live.
  void set_metadata(HandleId value, std::int64_t priority, std::optional<std::string> stable_key = {});
  Metadata metadata(HandleId value) const;

  /// Decides on the manager's present state; executes nothing (R56). `decide` throws where try_decide answers with
  /// Infeasible (PlanError) or Inconclusive (SearchLimitError); both throw as check_request does.
  Outcome try_decide(const Request& request);
  Decision decide(const Request& request);

  /// The decision's plan as a scope that refuses to enter a state other than the one decided on: StaleStateError,
  /// and nothing was executed. std::invalid_argument for a decision of another controller or manager (R61).
  residency::Scope scope(const Decision& decision, residency::TransferStreams streams = {});

  /// Decide, enter, acquire (R62). Consumer streams are for exactly the requested cuda locations, each of its device:
  /// std::invalid_argument before anything else. A failure on the way leaves no lease, no reservation and no open
  /// scope behind; placements that were done stay.
  Use use(const Request& request, const ConsumerStreams& consumers = {},
          residency::TransferStreams transfers = {});
  residency::Manager& manager() const { return manager_; }
  const Policy& policy() const { return *policy_; }

 private:
  residency::Manager& manager_;
  const std::shared_ptr<const Policy> policy_;
  const DecideOptions options_;
  const std::uint64_t id_;
  mutable std::mutex mutex_;  // of metadata_
  ValueMetadata metadata_;
};

}  // namespace fheres::control
