#include <stdexcept>

#include <fmt/format.h>

#include <fheres/control/metadata.hpp>

namespace fheres::control {

const Metadata& ValueMetadata::of(HandleId value) const {
  static const Metadata defaults;
  return value.serial < by_serial_.size() ? by_serial_[value.serial] : defaults;
}

Metadata& ValueMetadata::slot(HandleId value) {
  if (value.serial >= by_serial_.size()) by_serial_.resize(value.serial + 1);
  return by_serial_[value.serial];
}

void ValueMetadata::set(HandleId value, std::int64_t priority, std::optional<std::string> stable_key) {
  if (stable_key && stable_key->empty()) throw std::invalid_argument("a stable key is empty");
  const std::optional<std::string> old = of(value).stable_key;
  if (stable_key && stable_key != old && keys_.count(*stable_key) != 0) {  // R55
    throw std::invalid_argument(fmt::format("the stable key `{}` names another value already", *stable_key));
  }
  if (old) keys_.erase(*old);
  if (stable_key) keys_.emplace(*stable_key, value);
  Metadata& entry = slot(value);
  entry.priority = priority;
  entry.stable_key = std::move(stable_key);
}

std::optional<HandleId> ValueMetadata::owner_of(const std::string& stable_key) const {
  const auto found = keys_.find(stable_key);
  return found == keys_.end() ? std::nullopt : std::optional(found->second);
}

void ValueMetadata::touch(std::span<const HandleId> values) {
  ++epoch_;
  for (const HandleId value : values) slot(value).access_epoch = epoch_;
}

void ValueMetadata::forget(HandleId value) {
  if (value.serial >= by_serial_.size()) return;
  Metadata& entry = by_serial_[value.serial];
  if (entry.stable_key) keys_.erase(*entry.stable_key);
  entry = Metadata{};
}

}  // namespace fheres::control
