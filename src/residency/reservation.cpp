#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/residency/reservation.hpp>

#include "residency/core.hpp"

namespace fheres::residency {

// ---- Core's part

Reservation Core::admit(const ReservationSpec& spec) {
  auto body = std::make_shared<Reservation::Body>();
  {
    const std::lock_guard lock(mutex);
    reap();
    const auto made = state.reserve(spec);
    if (const auto* refusal = std::get_if<Refusal>(&made)) raise(*refusal, state);
    body->id = std::get<ReservationId>(made);
    body->spec = state.reservation(body->id)->spec;
    note_peak(spec.at);
  }
  body->core = shared_from_this();
  Reservation token(body);
  region(spec.at);  // so that blocks can be carved without the transition lock
  return token;
}

Bytes Core::available(ReservationId which) {
  const std::lock_guard lock(mutex);
  const ReservationRecord* record = state.reservation(which);
  if (record == nullptr) return 0;
  for (const Carving& c : carvings)
    if (c.id == which) return record->spec.bytes - c.carved;
  return record->spec.bytes;
}

Allocation Core::carve(ReservationId which, Location at, Bytes bytes) {
  const Bytes granules = round_up_to_granule(bytes);
  std::shared_ptr<memory::Region> storage;
  {
    const std::lock_guard lock(mutex);
    check_open();
    const ReservationRecord* record = state.reservation(which);
    FHERES_CHECK(record != nullptr);
    auto carving =
        std::find_if(carvings.begin(), carvings.end(), [&](const Carving& c) { return c.id == which; });
    const Bytes carved = carving == carvings.end() ? 0 : carving->carved;
    if (granules > record->spec.bytes - carved) {
      throw BudgetError(at, record->spec.bytes, carved, 0, granules,
                        fmt::format("{} requested of reservation '{}' at {}, which has {} left",
                                    format_exact_bytes(granules), record->spec.label, at.name(),
                                    format_exact_bytes(record->spec.bytes - carved)));
    }
    if (carving == carvings.end()) {
      carvings.push_back({which, granules, false});
    } else {
      carving->carved += granules;
    }
    storage = regions[at.index()];
  }
  try {
    std::optional<memory::Block> block = storage->try_allocate(bytes);
    if (!block) {
      // Something has to slide, and nobody may protect it meanwhile.
      const TransitionLock transition(*this);
      {
        const std::lock_guard lock(mutex);
        reap();
      }
      block = make_block(at, bytes).block;
    }
    const std::lock_guard lock(mutex);
    note_carved(which, *block);
    note_peak(at);
    return Allocation(shared_from_this(), which, std::move(*block));
  } catch (...) {
    end_allocation(which, nullptr, bytes);
    throw;
  }
}

void Core::end_reservation(ReservationId which) noexcept {
  const std::lock_guard lock(mutex);
  if (closed) return;
  const auto carving =
      std::find_if(carvings.begin(), carvings.end(), [&](const Carving& c) { return c.id == which; });
  if (carving == carvings.end()) {
    state.release(which);
  } else if (carving->carved == 0) {
    carvings.erase(carving);
    state.release(which);
  } else {
    // Its blocks are still in the region, so their bytes must stay charged.
    carving->released = true;
    state.resize(which, carving->carved);
  }
}

void Core::note_carved(ReservationId which, const memory::Block& block) {
  const auto carving =
      std::find_if(carvings.begin(), carvings.end(), [&](const Carving& c) { return c.id == which; });
  FHERES_CHECK(carving != carvings.end());
  const memory::Region& storage = *block.region();
  carving->pieces.push_back(
      {block.data(), block.bytes(), storage.has_arena() ? storage.offset_of(block) : 0});
}

void Core::end_allocation(ReservationId which, const std::byte* data, Bytes bytes) noexcept {
  const std::lock_guard lock(mutex);
  if (closed) return;
  const auto carving =
      std::find_if(carvings.begin(), carvings.end(), [&](const Carving& c) { return c.id == which; });
  if (carving == carvings.end()) return;
  carving->forget(data, bytes);
  carving->carved -= round_up_to_granule(bytes);
  if (!carving->released) return;
  if (carving->carved == 0) {
    carvings.erase(carving);
    state.release(which);
  } else {
    state.resize(which, carving->carved);
  }
}

// ---- Allocation

Allocation::Allocation(std::shared_ptr<Core> core, ReservationId charge, memory::Block block)
    : core_(std::move(core)), charge_(charge), block_(std::move(block)) {}

Allocation::Allocation(Allocation&& other) noexcept = default;

Allocation& Allocation::operator=(Allocation&& other) noexcept {
  if (this == &other) return *this;
  reset();
  core_ = std::move(other.core_);
  charge_ = other.charge_;
  block_ = std::move(other.block_);
  return *this;
}

Allocation::~Allocation() { reset(); }

void Allocation::reset() noexcept {
  if (!core_) return;
  const Bytes bytes = block_.bytes();
  const std::byte* data = block_.data();
  block_ = {};  // before its charge ends: what is charged is never less than what is allocated
  core_->end_allocation(charge_, data, bytes);
  core_.reset();
}

// ---- Reservation

Reservation::Reservation(std::shared_ptr<Body> body) : body_(std::move(body)) {}
Reservation::Reservation(Reservation&& other) noexcept = default;

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this == &other) return *this;
  release();
  body_ = std::move(other.body_);
  return *this;
}

Reservation::~Reservation() { release(); }

bool Reservation::active() const {
  if (!body_) return false;
  const std::lock_guard lock(body_->core->mutex);
  return body_->active && !body_->core->closed;
}

const ReservationSpec& Reservation::spec() const {
  if (!body_) throw LifetimeClosedError("the reservation is empty");
  return body_->spec;
}

ReservationId Reservation::id() const {
  if (!body_) throw LifetimeClosedError("the reservation is empty");
  return body_->id;
}

bool Reservation::belongs_to(const Core& core) const { return body_ && body_->core.get() == &core; }

Bytes Reservation::available() const { return active() ? body_->core->available(body_->id) : 0; }

Allocation Reservation::allocate(Bytes bytes) {
  if (!active()) throw LifetimeClosedError("the reservation is released");
  return body_->core->carve(body_->id, body_->spec.at, bytes);
}

void Reservation::release() noexcept {
  if (!body_) return;
  {
    const std::lock_guard lock(body_->core->mutex);
    if (!std::exchange(body_->active, false)) return;
  }
  body_->core->end_reservation(body_->id);
}

}  // namespace fheres::residency
