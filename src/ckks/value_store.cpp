#include <stdexcept>

#include <fheres/ckks/value_store.hpp>

namespace fheres::ckks {

std::shared_ptr<ValueStore> ValueStore::make(std::shared_ptr<memory::Region> region, memory::Stream stream) {
  if (region == nullptr) throw std::invalid_argument("expected a region, got none");
  if (region->at().is_host() != !stream || (stream && stream.device() != region->at())) {
    throw std::invalid_argument("expected a stream of " + region->at().name() +
                                ", and none for a host location, got " +
                                (stream ? "one of " + stream.device().name() : "none"));
  }
  return std::shared_ptr<ValueStore>(new ValueStore(std::move(region), std::move(stream)));
}

ValueStore::ValueStore(std::shared_ptr<memory::Region> region, memory::Stream stream)
    : region_(std::move(region)), stream_(std::move(stream)) {}

ValueStore::~ValueStore() {
  try {
    synchronize();
  } catch (...) {
    // A device that failed runs nothing any more, so nothing uses the blocks.
  }
}

void ValueStore::synchronize() {
  if (stream_) region_->driver()->synchronize(stream_);
  const std::lock_guard lock(mutex_);
  retired_.clear();
}

void ValueStore::reap() {
  const std::lock_guard lock(mutex_);
  std::erase_if(retired_,
                [&](const Retired& item) { return item.known && region_->driver()->complete(item.passed); });
}

memory::Block ValueStore::allocate(Bytes bytes) {
  reap();
  if (auto block = region_->try_allocate(bytes)) return std::move(*block);
  synchronize();
  return region_->allocate(bytes);
}

void ValueStore::retire(memory::Block block) noexcept {
  if (!stream_) return;
  Retired item{{}, std::move(block), false};
  try {
    item.passed = region_->driver()->record(stream_);
    item.known = true;
  } catch (...) {
    // Kept until somebody waits for the whole stream.
  }
  const std::lock_guard lock(mutex_);
  retired_.push_back(std::move(item));
}

}  // namespace fheres::ckks
