#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/residency/lease.hpp>

#include "residency/core.hpp"

namespace fheres::residency {

struct Lease::Body {
  std::shared_ptr<Core> core;
  Location at;
  std::vector<HandleId> values;
  std::vector<HandleId> sorted;  // the same, to be looked up in
  std::vector<memory::Stream> consumers;
  bool active = true;

  // Marks the lease as released and hands its consumers over; nothing on the second call.
  bool end();
  std::vector<memory::Event> record(bool& forever);
  void give_up(std::vector<memory::Event> events, bool forever);
};

namespace {

void check_consumer(const memory::Stream& stream, Location at) {
  if (stream && stream.device() != at)
    throw std::invalid_argument(
        fmt::format("a consumer stream of {} for a lease at {}", stream.device().name(), at.name()));
}

}  // namespace

Lease Core::acquire(std::span<const HandleId> values, Location at, const memory::Stream& consumer) {
  if (at.is_cuda() && !consumer)  // R30
    throw std::invalid_argument(fmt::format("a lease at {} needs a consumer stream", at.name()));
  check_consumer(consumer, at);
  auto body = std::make_shared<Lease::Body>(Lease::Body{shared_from_this(), at, {}, {}, {}});
  if (consumer) body->consumers.push_back(consumer);
  const TransitionLock transition(*this);
  {
    const std::lock_guard lock(mutex);
    reap();
    body->values = protectable(values, at);
  }
  body->sorted = body->values;
  std::sort(body->sorted.begin(), body->sorted.end());
  // R22; first, so that nothing is protected where it fails.
  if (consumer) {
    order_after_arrivals(consumer, body->values, at);
  } else {
    for (const HandleId value : body->values) await(value, at);
  }
  const std::lock_guard lock(mutex);
  for (const HandleId value : body->values) state.protect(value, at, State::Token::use);
  return Lease(std::move(body));
}

bool Lease::Body::end() {
  const std::lock_guard lock(core->mutex);
  return std::exchange(active, false) && !core->closed;
}

// One event a consumer. Where recording fails its stream is synchronized instead; where that fails too,
// `forever`.
std::vector<memory::Event> Lease::Body::record(bool& forever) {
  std::vector<memory::Event> events;
  for (const memory::Stream& stream : consumers) {
    try {
      events.push_back(core->driver->record(stream));
      continue;
    } catch (const std::exception& e) {
      core->warn(fmt::format("a lease at {} waits for its consumer, whose event was not recorded: {}",
                             at.name(), e.what()));
    }
    try {
      core->driver->synchronize(stream);
    } catch (const std::exception& e) {
      forever = true;
      core->warn(
          fmt::format("{} values at {} are kept until the process ends: a consumer cannot be waited for: {}",
                      values.size(), at.name(), e.what()));
    }
  }
  return events;
}

// Use tokens become pending ones, or end where nothing is pending (R32).
void Lease::Body::give_up(std::vector<memory::Event> events, bool forever) {
  const std::lock_guard lock(core->mutex);
  if (core->closed) return;
  std::erase_if(events, [&](const memory::Event& e) { return core->complete(e); });
  const bool done = events.empty() && !forever;
  for (const HandleId value : values) {
    if (done) {
      core->state.unprotect(value, at, State::Token::use);
    } else {
      core->state.use_to_pending(value, at);
    }
  }
  if (!done) core->pending.push_back({std::move(events), at, values, forever});
}

Lease::Lease(std::shared_ptr<Body> body) : body_(std::move(body)) {}
Lease::Lease(Lease&& other) noexcept = default;

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  Lease old(std::move(*this));
  body_ = std::move(other.body_);
  return *this;
}

Lease::~Lease() {
  try {
    release(false);
  } catch (...) {
    // Only an allocation can have failed; the tokens then stay, and what they protect with them.
  }
}

bool Lease::active() const {
  if (!body_) return false;
  const std::lock_guard lock(body_->core->mutex);
  return body_->active && !body_->core->closed;
}

memory::Location Lease::at() const {
  if (!body_) throw LifetimeClosedError("the lease is empty");
  return body_->at;
}

std::vector<HandleId> Lease::handles() const { return body_ ? body_->values : std::vector<HandleId>{}; }

BlockView Lease::view(HandleId value) const {
  if (!body_) throw LifetimeClosedError("the lease is empty");
  Core& core = *body_->core;
  const std::lock_guard lock(core.mutex);
  if (!body_->active || core.closed) throw LifetimeClosedError("the lease is released");
  if (!std::binary_search(body_->sorted.begin(), body_->sorted.end(), value)) {
    if (const auto refusal = core.state.check(value)) raise(*refusal, core.state);
    throw HandleError(HandleError::Reason::unknown, value,
                      fmt::format("value {} is not in the lease at {}", value.serial, body_->at.name()));
  }
  const memory::Block* block = core.stored[value.serial].find(body_->at);
  FHERES_CHECK(block != nullptr);
  return {body_->at, block->data(), block->bytes(), core.state.record(value).spec};
}

void Lease::add_consumer_stream(const memory::Stream& stream) {
  if (!body_) throw LifetimeClosedError("the lease is empty");
  if (!stream) throw std::invalid_argument("the consumer stream is empty");
  check_consumer(stream, body_->at);
  Core& core = *body_->core;
  const auto check = [&] {
    core.check_open();
    if (!body_->active) throw LifetimeClosedError("the lease is released");
  };
  {
    const std::lock_guard lock(core.mutex);
    check();
  }
  core.order_after_arrivals(stream, body_->values, body_->at);
  const std::lock_guard lock(core.mutex);
  check();
  auto& consumers = body_->consumers;
  if (std::find(consumers.begin(), consumers.end(), stream) == consumers.end()) consumers.push_back(stream);
}

void Lease::release(bool wait) {
  if (!body_ || !body_->end()) return;
  bool forever = false;
  std::vector<memory::Event> events = body_->record(forever);
  // Tokens first, so that the lease is over even where waiting fails.
  body_->give_up(events, forever);
  if (!wait) return;
  for (const memory::Event& event : events) body_->core->driver->synchronize(event);
  const std::lock_guard lock(body_->core->mutex);
  body_->core->end_events(events);
  body_->core->reap();
}

}  // namespace fheres::residency
