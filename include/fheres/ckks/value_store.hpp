#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <fheres/ckks/ciphertext.hpp>
#include <fheres/ckks/keys.hpp>
#include <fheres/ckks/plaintext.hpp>
#include <fheres/memory/block.hpp>

namespace fheres::ckks {

/// Storage of one region for values that one stream works on. Blocks come back in the stream's order: one
/// that is let go while queued work may still use it is kept until the stream has passed. Thread safe.
class ValueStore : public std::enable_shared_from_this<ValueStore> {
 public:
  /// The region of the stream's device; an empty stream for a host region, where nothing is ever queued.
  /// std::invalid_argument otherwise.
  static std::shared_ptr<ValueStore> make(std::shared_ptr<memory::Region> region, memory::Stream stream);
  /// Waits for the stream.
  ~ValueStore();

  /// A block, waiting for the stream where only blocks that it still uses are in the way.
  /// memory::AllocationError.
  memory::Block allocate(Bytes bytes);
  /// Takes a block back once the stream has passed what it has now.
  void retire(memory::Block block) noexcept;
  void synchronize();

  const std::shared_ptr<memory::Region>& region() const { return region_; }
  const memory::Stream& stream() const { return stream_; }

 private:
  struct Retired {
    memory::Event passed;
    memory::Block block;
    bool known;  // the event could be recorded
  };
  ValueStore(std::shared_ptr<memory::Region> region, memory::Stream stream);
  void reap();

  std::shared_ptr<memory::Region> region_;
  memory::Stream stream_;
  std::mutex mutex_;
  std::vector<Retired> retired_;
};

/// A CKKS value in a block of a store. Move-only; may be let go while the stream still works with it.
template <Family family>
class StoredValue {
 public:
  StoredValue(std::shared_ptr<ValueStore> store, const scheme::Parameters& parameters,
              const scheme::ValueType& type)
      : parameters_(parameters),
        type_(type),
        store_(std::move(store)),
        block_(store_->allocate(scheme::bytes_of(parameters, type))) {}
  StoredValue(StoredValue&&) noexcept = default;
  StoredValue& operator=(StoredValue&& other) noexcept {
    if (this == &other) return *this;
    let_go();
    parameters_ = std::move(other.parameters_);
    type_ = other.type_;
    store_ = std::move(other.store_);
    block_ = std::move(other.block_);
    return *this;
  }
  ~StoredValue() { let_go(); }

  const scheme::ValueType& type() const { return type_; }
  ValueView<family, const std::uint64_t> view() const {
    return {parameters_, type_, {block_.data(), block_.bytes()}};
  }
  ValueView<family, std::uint64_t> ref() { return {parameters_, type_, {block_.data(), block_.bytes()}}; }
  operator ValueView<family, const std::uint64_t>() const { return view(); }

 private:
  void let_go() noexcept {
    if (block_) store_->retire(std::move(block_));
  }

  scheme::Parameters parameters_;
  scheme::ValueType type_;
  std::shared_ptr<ValueStore> store_;
  memory::Block block_;
};
using StoredCiphertext = StoredValue<Family::ciphertext>;
using StoredPlaintext = StoredValue<Family::plaintext>;
using StoredKey = StoredValue<Family::key>;

}  // namespace fheres::ckks
