#include <map>

#include <fheres/base/check.hpp>
#include <fheres/memory/emulated.hpp>
#include <fheres/residency/manager.hpp>
#include <fheres/runtime/client.hpp>
#include <fheres/runtime/live_world.hpp>
#include <fheres/workload/binding.hpp>

#include "placement.hpp"

namespace fheres::runtime {

using memory::Location;

namespace {

residency::ManagerOptions options_of(const workload::World& world) {
  residency::ManagerOptions options;
  options.budgets = world.budgets();
  options.copies = world.copies();
  options.arrivals_end_when_settled = true;  // as the rehearsal has it
  return options;
}

/// On an emulated device, queued copies complete when something waits for them, so that no answer hangs on how fast a
/// thread was.
Machine settled(const Machine& machine) {
  if (machine.driver->name() != "emulated") return machine;
  memory::SteppedOptions options;
  options.devices = machine.driver->device_count();
  options.synchronize_only_what_is_needed = true;
  return {memory::make_stepped_driver(options), machine.note};
}

}  // namespace

class LiveWorld::Impl {
 public:
  Impl(const workload::World& world, const Machine& machine)
      : world_(world),
        machine_(settled(machine)),
        handles_(world.values.size()),
        manager_(machine_.driver, options_of(world)) {
    // Of their own, so that nothing waits for what a plan prefetched but what the plan says.
    for (int i = 0; i < machine_.driver->device_count(); ++i) {
      const Location device = Location::cuda(i);
      arrivals_.emplace(device, machine_.driver->make_stream(device, "arrivals"));
    }
    if (!world.parameters) return;
    client_.emplace(*world.parameters, std::nullopt);
    files_.emplace(*world.parameters);
  }

  residency::ManagerId id() const { return manager_.manager_id(); }

  residency::Explanation place() {
    for (const workload::ValueIndex index : world_.placement_order()) {
      const workload::Value& value = world_.values[index];
      if (value.produced_by) {
        handles_[index] = manager_.announce(value.spec);
        continue;
      }
      handles_[index] = place_first(value);
      const bool placed = !value.source && !value.backing;
      for (std::size_t i = placed ? 1 : 0; i < value.at.size(); ++i)
        manager_.ensure(handles_[index], value.at[i]);
    }
    return manager_.explain(residency::Plan{"initial placement", {}, {}, {}});
  }

  control::Outcome decide(const control::Request& request, const control::Policy& policy,
                          const control::ValueMetadata& metadata, const control::DecideOptions& options) {
    const residency::State state = manager_.planning_state();
    for (std::uint64_t serial = 0; serial < state.records().size(); ++serial) {
      for (const residency::Materialization& item : state.records()[serial].materializations) {
        if (item.arrival) manager_.settle(state.handle(serial), item.at);
      }
    }
    return control::decide(manager_.planning_state(), request, policy, metadata, options);
  }

  residency::Explanation run(const residency::Plan& plan) {
    residency::Explanation explanation = manager_.explain(plan, {}, residency::Detail::budgeted);
    if (!explanation.feasible) return explanation;
    residency::Scope scope = manager_.scope(plan, arrivals_);
    scope.enter();
    {
      // In the order in which a body carves them (Plan::workspace).
      std::vector<residency::Allocation> workspace, results;
      const auto carve = [&](std::size_t reservation, Bytes bytes) {
        const residency::ReservationSpec& spec = plan.reservations[reservation];
        return scope.reservation(spec.label, spec.at).allocate(bytes);
      };
      for (const residency::Workspace& item : plan.workspace)
        workspace.push_back(carve(item.reservation, item.bytes));
      for (const residency::Production& item : plan.produce)
        results.push_back(carve(item.reservation, manager_.spec(item.value).logical_bytes));
      for (std::size_t i = 0; i < results.size(); ++i) {
        fill(manager_, results[i].extent());
        manager_.adopt(std::move(results[i]), plan.produce[i].at, plan.produce[i].value);
      }
    }
    scope.close();
    return explanation;
  }

  void discard(residency::HandleId value) {
    for (const residency::ValuePlace& arrival :
         manager_.planning_state().arrivals_in_the_way(residency::Discard{value}))
      manager_.settle(arrival.value, arrival.at);
    manager_.discard(value);
  }

 private:
  /// At the first of its places, or as something that comes from elsewhere.
  residency::HandleId place_first(const workload::Value& value) {
    if (value.backing) {
      return place_backed(manager_, value, world_.values[*value.backing], handles_[*value.backing],
                          [this](Location at) -> const ckks::Context& { return context_at(at); });
    }
    if (!value.type) return place_opaque(manager_, value);
    FHERES_CHECK(client_ && files_);
    return runtime::place(manager_, value, {*client_, *files_},
                          is_made_by_client(value) ? client_->make(value) : std::vector<std::byte>());
  }

  const ckks::Context& context_at(Location at) {
    const auto found = contexts_.find(at);
    if (found != contexts_.end()) return found->second;
    return contexts_.emplace(at, machine_.context(*world_.parameters, at)).first->second;
  }

  const workload::World& world_;
  const Machine machine_;
  std::vector<residency::HandleId> handles_;
  // What sources and expansions use outlives the manager.
  std::optional<Client> client_;
  std::optional<ValueFiles> files_;
  std::map<Location, ckks::Context> contexts_;
  residency::TransferStreams arrivals_;
  residency::Manager manager_;
};

LiveWorld::LiveWorld(const workload::World& world, const Machine& machine)
    : impl_(std::make_unique<Impl>(world, machine)) {}

LiveWorld::~LiveWorld() = default;

workload::Witness LiveWorld::witness() {
  return {impl_->id(), [this] { return impl_->place(); },
          [this](const auto& request, const auto& policy, const auto& metadata, const auto& options) {
            return impl_->decide(request, policy, metadata, options);
          },
          [this](const residency::Plan& plan) { return impl_->run(plan); },
          [this](residency::HandleId value) { impl_->discard(value); }};
}

}  // namespace fheres::runtime
