#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fheres/residency/hold.hpp>

#include "residency/core.hpp"

namespace fheres::residency {

std::vector<HandleId> Core::protectable(std::span<const HandleId> values, Location at) const {
  if (values.empty()) throw std::invalid_argument("nothing to protect: the set of values is empty");  // R29
  std::vector<HandleId> distinct;
  distinct.reserve(values.size());
  std::vector<bool> seen(state.size());
  for (const HandleId value : values) {
    if (const auto refusal = state.check_resident(value, at)) raise(*refusal, state);
    if (seen[value.serial]) continue;
    seen[value.serial] = true;
    distinct.push_back(value);
  }
  return distinct;
}

Hold Core::hold(std::span<const HandleId> values, Location at) {
  const TransitionLock transition(*this);
  const std::lock_guard lock(mutex);
  reap();
  auto body = std::make_shared<Hold::Body>(Hold::Body{shared_from_this(), at, protectable(values, at)});
  for (const HandleId value : body->values) state.protect(value, at, State::Token::hold);
  return Hold(std::move(body));
}

Hold::Hold(std::shared_ptr<Body> body) : body_(std::move(body)) {}
Hold::Hold(Hold&& other) noexcept = default;

Hold& Hold::operator=(Hold&& other) noexcept {
  if (this == &other) return *this;
  release();
  body_ = std::move(other.body_);
  return *this;
}

Hold::~Hold() { release(); }

bool Hold::active() const {
  if (!body_) return false;
  const std::lock_guard lock(body_->core->mutex);
  return body_->active && !body_->core->closed;
}

Location Hold::at() const {
  if (!body_) throw LifetimeClosedError("the hold is empty");
  return body_->at;
}

std::vector<HandleId> Hold::handles() const { return body_ ? body_->values : std::vector<HandleId>{}; }

void Hold::release() noexcept {
  if (!body_) return;
  Core& core = *body_->core;
  const std::lock_guard lock(core.mutex);
  if (!std::exchange(body_->active, false) || core.closed) return;
  for (const HandleId value : body_->values) core.state.unprotect(value, body_->at, State::Token::hold);
}

}  // namespace fheres::residency
