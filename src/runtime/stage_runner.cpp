#include "stage_runner.hpp"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include <fheres/base/check.hpp>
#include <fheres/base/clock.hpp>
#include <fheres/runtime/bind.hpp>

#include "annotate.hpp"

namespace fheres::runtime {
namespace {

using workload::Operand;

// Enough that the device never waits for the host.
constexpr std::size_t kAhead = 8;

class BodyRunner {
 public:
  BodyRunner(const workload::Stage& stage, const BodyContext& context, StageRun& run)
      : stage_(stage), context_(context), run_(run) {}

  void run() {
    allocate();
    find_arriving();
    try {
      lease();
      for (std::size_t next = 0; next < stage_.body.size();) {
        if (context_.interrupted != nullptr && context_.interrupted->load()) throw Interrupted{};
        next = queue(next);
        stay_close(next);
      }
    } catch (...) {
      // Storage that queued work uses must outlive it, whatever went wrong.
      wait();
      throw;
    }
    for (residency::Lease& lease : leases_) lease.release();
    wait();
    adopt_outputs();
  }

 private:
  /// The start or the end of an operation or of a stall, by its place in the report.
  struct Moment {
    bool of_stall = false;
    std::size_t index = 0;
    bool is_end = false;
  };

  residency::Reservation& reservation(std::size_t index) {
    const residency::ReservationSpec& spec = stage_.reserve[index].spec;
    return context_.scope.reservation(spec.label, spec.at);
  }

  void allocate() {
    const workload::BodyLayout& layout = stage_.layout;
    if (layout.workspace_from) {
      Bytes all = layout.workspace_bytes;
      for (std::size_t i = 0; i < layout.output_bytes.size(); ++i) all += layout.output_bytes[i];
      context_.manager.gather(*stage_.at, all);
    }
    if (layout.workspace_from)
      workspace_ = reservation(*layout.workspace_from).allocate(layout.workspace_bytes);
    for (std::size_t i = 0; i < layout.output_bytes.size(); ++i) {
      outputs_.push_back(reservation(layout.output_from[i]).allocate(layout.output_bytes[i]));
    }
  }

  void find_arriving() {
    for (std::size_t i = 0; i < stage_.input_count; ++i)
      inputs_.push_back(context_.handles[stage_.require[i].value]);
    // At a host location somebody on the host has to wait anyway.
    if (!context_.consumer) return;
    for (const residency::HandleId value : context_.manager.arriving(inputs_, *stage_.at))
      arriving_.emplace(value, arriving_.size());
  }

  /// Inputs that are there. What is still on its way is leased by the first operation that wants it, so that those
  /// before it need not wait (R22).
  void lease() {
    std::vector<residency::HandleId> here;
    for (const residency::HandleId value : inputs_)
      if (!is_arriving(value)) here.push_back(value);
    acquire(here);
  }

  bool is_arriving(residency::HandleId value) const { return arriving_.contains(value); }

  void acquire(std::span<const residency::HandleId> values) {
    if (values.empty()) return;
    leases_.push_back(context_.manager.acquire(values, *stage_.at, context_.consumer));
    lease_of_.reserve(inputs_.size());
    for (const residency::HandleId value : values) lease_of_.emplace(value, leases_.size() - 1);
  }

  /// The stream waits here, on the device, for the inputs of these steps that are still on their way. Once for all of
  /// them: a transform reads hundreds, and moments noted around each hold the device up for longer than the copies take.
  /// The wait is told of the one that arrives last.
  void await_inputs(std::size_t first, std::size_t end) {
    if (arriving_.empty()) return;
    std::vector<residency::HandleId> values;
    std::size_t last = 0, place = 0;
    for (std::size_t step = first; step < end; ++step) {
      const workload::BodyOperation& operation = stage_.body[step];
      const auto want = [&](const Operand& operand) {
        if (operand.from != Operand::From::value) return;
        const auto found = arriving_.find(context_.handles[operand.index]);
        if (found == arriving_.end()) return;
        if (values.empty() || found->second > place) last = operand.index, place = found->second;
        values.push_back(found->first);
        arriving_.erase(found);
      };
      for (const Operand& operand : operation.operands) want(operand);
      if (operation.key) want(*operation.key);
      for (const Operand& key : operation.keys) want(key);
    }
    if (values.empty()) return;
    const std::size_t stall = run_.stalls.size();
    run_.stalls.push_back(
        {context_.world.values[last].name.text, stage_.body[first].result.text, *stage_.at, 0, 0});
    stamp({true, stall, false});
    acquire(values);
    stamp({true, stall, true});
  }

  template <class View>
  View bound(std::size_t value) const {
    const residency::HandleId handle = context_.handles[value];
    const auto& type = context_.world.values[value].type;
    FHERES_CHECK(type.has_value());
    return bind<View>(parameters(), *type, leases_[lease_of_.at(handle)].view(handle));
  }

  const scheme::Parameters& parameters() const { return context_.evaluator->context().parameters(); }

  std::span<std::byte> storage_of(std::size_t step) {
    const workload::BodyOperation& operation = stage_.body[step];
    const Bytes bytes = scheme::bytes_of(parameters(), operation.type);
    if (operation.output) return {outputs_[*operation.output].data(), bytes};
    const auto& piece = stage_.layout.steps[step].result;
    FHERES_CHECK(piece && piece->bytes >= bytes);
    return {workspace_.data() + piece->offset, bytes};
  }

  ckks::CiphertextView ciphertext(const Operand& operand) {
    if (operand.from == Operand::From::result) {
      return ckks::CiphertextRef(parameters(), stage_.body[operand.index].type, storage_of(operand.index));
    }
    return bound<ckks::CiphertextView>(operand.index);
  }

  ckks::PlaintextView plaintext(const Operand& operand) { return bound<ckks::PlaintextView>(operand.index); }

  ckks::KeyView key(const Operand& operand) { return bound<ckks::KeyView>(operand.index); }

  ckks::CiphertextRef result_of(std::size_t step) {
    return {parameters(), stage_.body[step].type, storage_of(step)};
  }

  /// Queues the operation that begins at that step of the body; returns the step after it.
  std::size_t queue(std::size_t step) {
    const workload::BodyOperation& operation = stage_.body[step];
    const std::size_t end = step + (operation.turns ? operation.turns->count : 1);
    await_inputs(step, end);
    std::vector<ckks::CiphertextView> ciphertexts;
    std::vector<ckks::PlaintextView> plaintexts;
    for (std::size_t i = 0; i < operation.operands.size(); ++i) {
      if (i > 0 && workload::takes_plaintexts(operation)) {
        plaintexts.push_back(plaintext(operation.operands[i]));
      } else {
        ciphertexts.push_back(ciphertext(operation.operands[i]));
      }
    }
    std::vector<ckks::KeyView> keys;
    std::vector<ckks::CiphertextRef> outs;
    for (std::size_t i = step; i < end; ++i) {
      if (stage_.body[i].key) keys.push_back(key(*stage_.body[i].key));
      outs.push_back(result_of(i));
    }
    for (const Operand& from : operation.keys) keys.push_back(key(from));
    const workload::Piece& scratch = stage_.layout.steps[step].scratch;
    const ckks::Workspace workspace =
        scratch.bytes == 0 ? ckks::Workspace{}
                           : ckks::Workspace(workspace_.data() + scratch.offset, operation.scratch_bytes);
    note(step, end);
    const Annotation annotation(Annotation::Kind::operation, run_.operations.back().result);
    mark({false, run_.operations.size() - 1, false});
    const ckks::Evaluator& evaluator = *context_.evaluator;
    if (operation.turns) {
      evaluator.rotate_many(ciphertexts[0], keys, outs, workspace, context_.consumer);
    } else if (operation.transform) {
      evaluator.linear_transform(*operation.transform, ciphertexts[0], plaintexts, keys, outs[0], workspace,
                                 context_.consumer);
    } else if (operation.circuit) {
      evaluator.run(*operation.circuit, ciphertexts[0], keys, outs[0], workspace, context_.consumer);
    } else {
      evaluator.apply(operation.operation,
                      {ciphertexts, plaintexts.empty() ? nullptr : plaintexts.data(),
                       keys.empty() ? nullptr : keys.data(), operation.scalar ? &*operation.scalar : nullptr},
                      outs[0], workspace, context_.consumer);
    }
    mark({false, run_.operations.size() - 1, true});
    return end;
  }

  /// Waits until the device is no more than kAhead calls behind.
  void stay_close(std::size_t queued) {
    std::size_t over = queued;
    if (context_.consumer) {
      memory::Driver& driver = context_.manager.driver();
      ahead_.emplace_back(driver.record(context_.consumer), queued);
      if (ahead_.size() <= kAhead) return;
      driver.synchronize(ahead_.front().first);
      over = ahead_.front().second;
      ahead_.pop_front();
    }
    if (context_.progress) context_.progress(over);
  }

  void note(std::size_t step, std::size_t end) {
    OperationRun item;
    item.operation = std::string(workload::name(stage_.body[step]));
    item.at = *stage_.at;
    const auto add_read = [&](const Operand& operand) {
      if (operand.from == Operand::From::value)
        item.reads.push_back(context_.world.values[operand.index].name.text);
    };
    for (const Operand& operand : stage_.body[step].operands) add_read(operand);
    for (std::size_t i = step; i < end; ++i) {
      const workload::BodyOperation& operation = stage_.body[i];
      item.result += (i == step ? "" : ", ") + operation.result.text;
      if (operation.key) add_read(*operation.key);
      for (const Operand& key : operation.keys) add_read(key);
    }
    run_.operations.push_back(std::move(item));
  }

  /// Notes the moment of an operation: now, or when the stream gets here.
  void mark(Moment moment) {
    if (!context_.consumer) {
      note_time(moment, now_ns());
    } else if (context_.time_operations) {
      stamp(moment);
    }
  }

  void stamp(Moment moment) {
    moments_.emplace_back(moment, context_.manager.driver().record_timed(context_.consumer));
  }

  /// What fails before its end takes no time: it ends where it starts until more is known.
  void note_time(Moment moment, std::int64_t ns) {
    const auto note = [&](auto& span) {
      span.end_ns = ns;
      if (!moment.is_end) span.start_ns = ns;
    };
    if (moment.of_stall) return note(run_.stalls[moment.index]);
    note(run_.operations[moment.index]);
  }

  void wait() {
    if (!context_.consumer) return;
    const memory::Driver& driver = context_.manager.driver();
    context_.manager.driver().synchronize(context_.consumer);
    for (const auto& [moment, event] : moments_) note_time(moment, driver.time_ns(event));
    moments_.clear();
  }

  void adopt_outputs() {
    for (std::size_t i = 0; i < stage_.outputs.size(); ++i) {
      const workload::Value& value = context_.world.values[stage_.outputs[i].value];
      const residency::HandleId handle = context_.handles[stage_.outputs[i].value];
      context_.manager.adopt(std::move(outputs_[i]), *stage_.at, handle);
      run_.outputs.push_back({value.name.text, handle, *stage_.at, value.spec.logical_bytes});
    }
  }

  const workload::Stage& stage_;
  const BodyContext& context_;
  StageRun& run_;
  residency::Allocation workspace_;
  std::vector<residency::Allocation> outputs_;
  std::vector<residency::HandleId> inputs_;
  std::unordered_map<residency::HandleId, std::size_t>
      arriving_;  // not leased yet; in which order they were queued
  std::vector<residency::Lease> leases_;
  std::unordered_map<residency::HandleId, std::size_t> lease_of_;
  std::vector<std::pair<Moment, memory::Event>> moments_;    // that the stream has not passed yet
  std::deque<std::pair<memory::Event, std::size_t>> ahead_;  // operations up to which may not be over
};

}  // namespace

void run_body(const workload::Stage& stage, const BodyContext& context, StageRun& run) {
  if (stage.body.empty()) return;
  BodyRunner(stage, context, run).run();
}

}  // namespace fheres::runtime
