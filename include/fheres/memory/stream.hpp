#pragma once

#include <memory>

#include <fheres/memory/location.hpp>

namespace fheres::memory {

/// What a driver keeps behind a stream or an event. Each driver derives its own.
struct StreamState {
  explicit StreamState(Location where) : device(where) {}
  virtual ~StreamState() = default;
  const Location device;
};
struct EventState {
  virtual ~EventState() = default;
};

/// An ordered queue of work on one cuda location (real or emulated), made by a Driver. A cheap shared handle:
/// copies name the same queue, and it lives as long as one of them. An empty Stream names none.
/// Work of two streams is unordered unless an Event orders it. Thread safe as far as its driver is.
class Stream {
 public:
  Stream() = default;
  explicit Stream(std::shared_ptr<StreamState> state) : state_(std::move(state)) {}

  explicit operator bool() const { return state_ != nullptr; }
  /// The cuda location it runs on. Only when not empty.
  Location device() const { return state_->device; }
  StreamState* state() const { return state_.get(); }
  friend bool operator==(const Stream& a, const Stream& b) { return a.state_ == b.state_; }

 private:
  std::shared_ptr<StreamState> state_;
};

/// A point in a stream's work, recorded by a Driver. A cheap shared handle. An empty Event is
/// always complete.
class Event {
 public:
  Event() = default;
  explicit Event(std::shared_ptr<EventState> state) : state_(std::move(state)) {}

  explicit operator bool() const { return state_ != nullptr; }
  EventState* state() const { return state_.get(); }
  friend bool operator==(const Event& a, const Event& b) { return a.state_ == b.state_; }

 private:
  std::shared_ptr<EventState> state_;
};

}  // namespace fheres::memory
