#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <mutex>
#include <stdexcept>

#include <fheres/base/clock.hpp>
#include <fheres/base/sha256.hpp>
#include <fheres/residency/manager.hpp>
#include <fheres/runtime/client.hpp>
#include <fheres/runtime/session.hpp>
#include <fheres/runtime/shadow.hpp>
#include <fheres/workload/binding.hpp>

#include "annotate.hpp"
#include "making.hpp"
#include "placement.hpp"
#include "recorder.hpp"
#include "stage_runner.hpp"

namespace fheres::runtime {
namespace {

using memory::Location;

class Session {
 public:
  Session(const workload::Workload& workload, const Machine& machine, const SessionOptions& options)
      : workload_(workload),
        machine_(machine),
        options_(options),
        handles_(workload.world.values.size()),
        policy_(workload::policy_of(workload.world)),
        shadow_(workload) {
    if (!workload.world.parameters)
      throw std::invalid_argument("a workload without parameters cannot run, only be explained");
  }

  RunReport run() {
    report_.start_ns = now_ns();
    try {
      phase_ = "placement";
      describe_machine();
      open_manager();
      place_values();
      for (const workload::Stage& stage : workload_.stages) run_stage(stage);
      phase_ = "check";
      if (!unchecked_.empty()) tell("checks", operations_before_);
      while (!unchecked_.empty()) check_next();
    } catch (const residency::PlanExecutionError& error) {
      fail(error.code(), error.what());
      report_.failure->action = error.action;
      report_.failure->index = error.index;
    } catch (const Interrupted&) {
      report_.status = RunStatus::interrupted;
      report_.failure = RunFailure{"run/interrupted", "stopped at an operation boundary", stage_, phase_};
    } catch (const Error& error) {
      fail(error.code(), error.what());
    } catch (const std::exception& error) {
      fail("run/unexpected", error.what());
    }
    finish();
    return std::move(report_);
  }

 private:
  void describe_machine() {
    const scheme::Parameters& parameters = *workload_.world.parameters;
    report_.driver = machine_.driver->name();
    report_.device = machine_.driver->describe(Location::cuda(0));
    report_.parameters = parameters.name().empty() ? parameters.id() : parameters.name();
    report_.parameters_id = parameters.id();
    report_.insecure = parameters.security() == scheme::SecurityTable::none;
    report_.seed = options_.seed ? options_.seed : workload_.seed;
  }

  void open_manager() {
    residency::ManagerOptions options;
    options.budgets = workload_.world.budgets();
    options.copies = workload_.world.copies();
    options.observe_devices = !options_.undisturbed;
    options.arrivals_end_when_settled = true;  // as the rehearsal has it
    // As many transitions as the stages can have: their reports are completed out of the trace.
    for (const workload::Stage& stage : workload_.stages) {
      if (!stage.plan) continue;
      for (const auto* list :
           {&stage.plan->reclaim, &stage.plan->enter, &stage.plan->prefetch, &stage.plan->exit})
        options.trace_capacity += list->size();
    }
    options.warn = [this](const std::string& line) {
      const std::lock_guard lock(warnings_mutex_);
      report_.warnings.push_back(line);
    };
    manager_ = std::make_unique<residency::Manager>(machine_.driver, std::move(options));
    recorder_ = std::make_unique<Recorder>(manager_->planning_state());
    for (const workload::Stage& stage : workload_.stages) {
      if (!stage.at || stage.body.empty()) continue;
      const bool first = !contexts_.contains(*stage.at);
      const ckks::Context& context = context_at(*stage.at);
      evaluators_.try_emplace({*stage.at, stage.key_switch_group}, context, stage.key_switch_group);
      if (!first || !stage.at->is_cuda()) continue;
      report_.context_bytes += context.backend().table_bytes();
      consumers_.emplace(*stage.at, machine_.driver->make_stream(*stage.at, "operations"));
      // Copies to the device have a stream of their own: those from it, on the manager's, overtake what is queued.
      arrivals_.emplace(*stage.at, machine_.driver->make_stream(*stage.at, "arrivals"));
    }
  }

  /// What computes at a location: operations, and expansions of seeded keys.
  const ckks::Context& context_at(Location at) {
    const auto found = contexts_.find(at);
    if (found != contexts_.end()) return found->second;
    return contexts_.emplace(at, machine_.context(*workload_.world.parameters, at)).first->second;
  }

  void place_values() {
    tell("keys and inputs", 0);
    const std::vector<workload::Value>& values = workload_.world.values;
    client_ = std::make_unique<Client>(*workload_.world.parameters, report_.seed);
    files_ = std::make_unique<ValueFiles>(*workload_.world.parameters);
    report_.without_secret = std::none_of(values.begin(), values.end(), workload::needs_secret);
    const std::vector<workload::ValueIndex> order = workload_.world.placement_order();
    std::vector<const workload::Value*> made;
    for (const workload::ValueIndex index : order) {
      if (is_made_by_client(values[index])) made.push_back(&values[index]);
    }
    Making making(*client_, made, options_.threads);
    for (const workload::ValueIndex index : order) {
      const workload::Value& value = values[index];
      stop_if_asked();
      if (value.backing) {
        handles_[index] =
            place_backed(*manager_, value, values[*value.backing], handles_[*value.backing],
                         [this](Location at) -> const ckks::Context& { return context_at(at); });
        workload::describe(value, handles_[index], metadata_);
        recorder_->catch_up(manager_->planning_state(), handles_[index], now_ns());
        continue;
      }
      if (value.produced_by) {
        handles_[index] = manager_->announce(value.spec);
        workload::describe(value, handles_[index], metadata_);
        continue;
      }
      handles_[index] = place(*manager_, value, {*client_, *files_},
                              is_made_by_client(value) ? making.take() : std::vector<std::byte>());
      workload::describe(value, handles_[index], metadata_);
      recorder_->catch_up(manager_->planning_state(), handles_[index], now_ns());
      for (std::size_t i = value.source ? 0 : 1; i < value.at.size(); ++i) {
        const residency::TransitionReport transition = manager_->ensure(handles_[index], value.at[i]);
        recorder_->add(transition);
        report_.placement.push_back(transition);
      }
    }
    recorder_->catch_up(manager_->planning_state());  // with what was announced last
  }

  void run_stage(const workload::Stage& stage) {
    stop_if_asked();
    stage_ = stage.name.text;
    if (report_.stages.empty()) start_counting();
    tell(stage_, operations_before_);
    const Annotation annotation(Annotation::Kind::stage, stage_);
    StageRun& run = report_.stages.emplace_back();
    run.name = stage_;
    run.start_ns = now_ns();
    phase_ = "decide";
    std::optional<std::uint64_t> version;
    std::vector<residency::HandleId> used;
    if (stage.plan) {
      run.plan = workload::plan_of(stage, handles_);
    } else {
      settle_arrivals();
      const control::Request request = workload::request_of(stage, handles_);
      run.decision =
          control::decision_or_throw(control::decide(manager_->planning_state(), request, policy_, metadata_,
                                                     workload_.world.policy.applied_to(options_.decide)));
      run.plan = run.decision->plan;
      run.plan.produce = workload::productions_of(stage, handles_);
      run.plan.workspace = workload::workspace_of(stage);
      version = run.decision->expected_version;
      for (const control::Requirement& item : request.require) used.push_back(item.value);
    }
    run_scope(stage, run, version);
    metadata_.touch(used);
    for (std::size_t i = 0; i < run.outputs.size(); ++i) {
      const bool compared = stage.outputs[i].checked;
      if (compared || options_.output) unchecked_.push_back({&stage, run.outputs[i], compared});
    }
    while (!options_.undisturbed && !unchecked_.empty()) check_next();
    release(stage, run);
    run.complete = true;
    run.end_ns = now_ns();
    stage_.clear();
    phase_ = "between stages";
  }

  /// A policy decides on what has arrived, so that its answer does not hang on how fast a copy was.
  void settle_arrivals() {
    const residency::State state = manager_->planning_state();
    for (std::uint64_t serial = 0; serial < state.records().size(); ++serial) {
      for (const residency::Materialization& item : state.records()[serial].materializations) {
        if (item.arrival) manager_->settle(state.handle(serial), item.at);
      }
    }
  }

  void run_scope(const workload::Stage& stage, StageRun& run, std::optional<std::uint64_t> version) {
    residency::Scope scope = manager_->scope(run.plan, arrivals_, version);
    const std::size_t index = report_.stages.size() - 1;
    std::size_t counted = 0;
    const auto record = [&] {
      const std::vector<residency::ActionReport>& actions = scope.report().actions;
      for (; counted < actions.size(); ++counted) progress_.moved_bytes += actions[counted].transition.bytes;
      recorder_->note_actions(index, actions.size(), now_ns());
    };
    const auto record_end = [&] {
      record();
      run.report = scope.report();
      recorder_->note_end(index, now_ns());
    };
    // What a plan promises is looked at once, by the scope, but for who holds the room.
    const bool with_holders = options_.holders_in.contains(run.name);
    const auto note_explanation = [&] {
      if (!with_holders && scope.explanation()) run.explanation = *scope.explanation();
    };
    const auto end_early = [&] {
      note_explanation();
      residency::tell_holders(manager_->planning_state(), run.explanation);
      scope.abandon();
      record_end();
    };
    try {
      phase_ = "enter";
      if (with_holders) run.explanation = manager_->explain(run.plan, {}, residency::Detail::budgeted);
      annotated([&] { scope.enter(); });
      note_explanation();
      record();
      phase_ = "body";
      BodyContext context{*manager_,
                          scope,
                          workload_.world,
                          handles_,
                          nullptr,
                          {},
                          options_.time_operations,
                          options_.interrupted,
                          [&](std::size_t done) { tell(stage_, operations_before_ + done); }};
      if (!stage.body.empty()) {
        context.evaluator = &evaluators_.at({*stage.at, stage.key_switch_group});
        if (stage.at->is_cuda()) context.consumer = consumers_.at(*stage.at);
      }
      annotated([&] { run_body(stage, context, run); });
      operations_before_ += stage.body.size();
      recorder_->note_outputs(index, now_ns());
      phase_ = "exit";
      annotated([&] { scope.close(); });
      record_end();
    } catch (const residency::PlanExecutionError& error) {
      phase_ = residency::name(error.phase);
      end_early();
      throw;
    } catch (...) {
      end_early();
      throw;
    }
  }

  /// One phase, as a range of its own for a profiler.
  template <class Function>
  void annotated(const Function& function) const {
    const Annotation annotation(Annotation::Kind::phase, phase_);
    function();
  }

  /// The oldest output that was not checked yet. The clear text follows the stages in order.
  void check_next() {
    const Unchecked next = std::move(unchecked_.front());
    unchecked_.pop_front();
    phase_ = "check";
    const std::int64_t start = now_ns();
    for (; shadowed_ <= static_cast<std::size_t>(next.stage - workload_.stages.data()); ++shadowed_)
      shadow_.run(workload_.stages[shadowed_]);
    check(next.output, next.compared);
    if (!stage_.empty()) report_.stages.back().check_ns += now_ns() - start;
  }

  void check(const OutputRun& output, bool compared) {
    const workload::ValueIndex index = *workload_.world.find(output.name);
    const workload::Value& value = workload_.world.values[index];
    const std::vector<std::byte> bytes = read(*manager_, output.handle);
    CheckRun result;
    result.value = output.name;
    result.tolerance = workload_.checks.tolerance;
    Sha256 hash;
    hash.add(bytes);
    result.residues_sha256 = hash.finish();
    if (options_.output) options_.output(value, bytes);
    if (!compared) return;
    const std::vector<double>& expected = shadow_.slots(index);
    if (report_.without_secret) {
      result.skipped = "no secret key is here: keys and inputs come from files";
      report_.checks.push_back(std::move(result));
      return;
    }
    std::vector<const workload::Expectation*> said;
    for (const workload::Expectation& expectation : workload_.checks.expect)
      if (expectation.value == index) said.push_back(&expectation);
    CheckRun told = result;
    std::vector<double> actual;
    if (!expected.empty() || !said.empty()) actual = client_->decrypt(*value.type, bytes);
    if (expected.empty()) {
      result.skipped = "the clear text of an input is not known";
    } else {
      compare(actual, expected, result);
      note_error(result);
    }
    report_.checks.push_back(std::move(result));
    told.expected = true;
    for (const workload::Expectation* expectation : said) {
      told.tolerance = expectation->tolerance.value_or(workload_.checks.tolerance);
      compare(actual, expected_slots(*expectation, actual.size()), told);
      note_error(told);
      report_.checks.push_back(told);
    }
  }

  void note_error(const CheckRun& result) {
    progress_.largest_error = std::max(progress_.largest_error.value_or(0), result.largest_error);
  }

  static void compare(const std::vector<double>& actual, const std::vector<double>& expected,
                      CheckRun& result) {
    result.largest_error = largest_error(actual, expected);
    // A comparison with not-a-number is false, so it must not be what passes.
    result.passed = result.largest_error <= result.tolerance;
  }

  bool is_unchecked(residency::HandleId value) const {
    return std::any_of(unchecked_.begin(), unchecked_.end(),
                       [&](const Unchecked& item) { return item.output.handle == value; });
  }

  void release(const workload::Stage& stage, StageRun& run) {
    for (const workload::Operand& operand : stage.release) {
      const residency::HandleId handle = handles_[operand.index];
      while (is_unchecked(handle)) check_next();
      phase_ = "release";
      manager_->settle_for(residency::Discard{handle});
      recorder_->note_discard(manager_->discard(handle));
      metadata_.forget(handle);
      run.released.push_back(workload_.world.values[operand.index].name.text);
    }
  }

  void stop_if_asked() const {
    if (options_.interrupted != nullptr && options_.interrupted->load()) throw Interrupted{};
  }

  void start_counting() {
    for (const workload::Stage& stage : workload_.stages) progress_.total += stage.body.size();
    stages_start_ns_ = now_ns();
  }

  void tell(const std::string& what, std::size_t done) {
    if (!options_.progress) return;
    progress_.what = what;
    progress_.done = done;
    if (done != 0) {
      const double each = static_cast<double>(now_ns() - stages_start_ns_) / static_cast<double>(done);
      progress_.left_ns = static_cast<std::int64_t>(each * static_cast<double>(progress_.total - done));
    }
    options_.progress(progress_);
  }

  void fail(const std::string& code, const std::string& message) {
    report_.status = RunStatus::failed;
    report_.failure = RunFailure{code, message, stage_, phase_};
  }

  /// Also after a failure: what there is to say is said, and the manager ends cleanly.
  void finish() {
    if (report_.status == RunStatus::done && std::any_of(report_.checks.begin(), report_.checks.end(),
                                                         [](const CheckRun& item) { return item.wrong(); })) {
      report_.status = RunStatus::wrong_result;
    }
    for (StageRun& stage : report_.stages) {
      if (!stage.complete) stage.end_ns = now_ns();
    }
    for (const Unchecked& item : unchecked_) {
      if (!item.compared) continue;
      report_.checks.push_back(
          {item.output.name, 0, workload_.checks.tolerance, false, "the run ended before its check", ""});
    }
    report_.sum_traffic();
    if (client_) report_.client = client_->spent();
    report_.end_ns = now_ns();
    if (!manager_) return;
    try {
      settle_arrivals();
      report_.complete(manager_->trace());
      report_.final_snapshot = manager_->snapshot();
      recorder_->finish(report_.end_ns, report_);
      manager_->close();
    } catch (const std::exception& error) {
      if (report_.status == RunStatus::done) fail("run/close", error.what());
    }
  }

  struct Unchecked {
    const workload::Stage* stage;
    OutputRun output;
    bool compared;  // with its clear text; else only handed out
  };

  const workload::Workload& workload_;
  const Machine& machine_;
  const SessionOptions& options_;
  RunReport report_;
  std::deque<Unchecked> unchecked_;
  std::size_t shadowed_ = 0;  // stages whose clear text is known
  std::mutex warnings_mutex_;
  std::string stage_, phase_;
  Progress progress_;
  std::size_t operations_before_ = 0;  // of the stages that are over
  std::int64_t stages_start_ns_ = 0;
  std::vector<residency::HandleId> handles_;
  control::DeterministicTieredLRU policy_;
  control::ValueMetadata metadata_;
  Shadow shadow_;
  // What sources and expansions use outlives the manager.
  std::unique_ptr<Client> client_;
  std::unique_ptr<ValueFiles> files_;
  std::map<Location, ckks::Context> contexts_;
  std::map<std::pair<Location, int>, ckks::Evaluator> evaluators_;  // by group of output limbs too
  std::map<Location, memory::Stream> consumers_;
  residency::TransferStreams arrivals_;
  std::unique_ptr<residency::Manager> manager_;
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace

RunReport run(const workload::Workload& workload, const Machine& machine, const SessionOptions& options) {
  return Session(workload, machine, options).run();
}

}  // namespace fheres::runtime
