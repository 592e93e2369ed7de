#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include <fheres/base/check.hpp>

namespace fheres {

/// A vector whose copies share what neither of them changes: elements live in chunks, a copy takes one pointer a
/// chunk, and a change of one element copies the elements of its chunk where somebody else has them too. For values
/// that are copied often and changed in few places. Distinct copies may be used by distinct threads.
template <class T, std::size_t kChunk = 32>
class SharedVector {
 public:
  SharedVector() = default;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](std::size_t i) const { return chunks_[i / kChunk]->items[i % kChunk]; }
  const T& back() const { return (*this)[size_ - 1]; }

  /// The element, to be changed. References that were taken before are no longer good.
  T& edit(std::size_t i) { return own(chunks_[i / kChunk]).items[i % kChunk]; }

  void push_back(T value) {
    if (size_ % kChunk == 0) chunks_.emplace_back(new Chunk);
    own(chunks_.back()).items[size_ % kChunk] = std::move(value);
    ++size_;
  }

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;
    Iterator() = default;
    Iterator(const SharedVector* vector, std::size_t index) : vector_(vector), index_(index) {}
    reference operator*() const { return (*vector_)[index_]; }
    pointer operator->() const { return &(*vector_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++index_;
      return before;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const SharedVector* vector_ = nullptr;
    std::size_t index_ = 0;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size_}; }

 private:
  struct Chunk {
    std::atomic<std::uint32_t> owners{1};
    T items[kChunk]{};
  };

  /// Counts its owners itself: std::shared_ptr cannot say whether it is the only one so that what other threads read
  /// before they gave it up is behind us.
  class Pointer {
   public:
    Pointer() = default;
    explicit Pointer(Chunk* chunk) : chunk_(chunk) {}
    Pointer(const Pointer& other) : chunk_(other.chunk_) {
      if (chunk_ != nullptr) chunk_->owners.fetch_add(1, std::memory_order_relaxed);
    }
    Pointer(Pointer&& other) noexcept : chunk_(std::exchange(other.chunk_, nullptr)) {}
    Pointer& operator=(Pointer other) noexcept {
      std::swap(chunk_, other.chunk_);
      return *this;
    }
    ~Pointer() {
      if (chunk_ != nullptr && chunk_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete chunk_;
    }
    Chunk* operator->() const { return chunk_; }
    Chunk& operator*() const { return *chunk_; }
    bool only() const { return chunk_->owners.load(std::memory_order_acquire) == 1; }

   private:
    Chunk* chunk_ = nullptr;
  };

  static Chunk& own(Pointer& pointer) {
    FHERES_CHECK(pointer.operator->() != nullptr);
    if (!pointer.only()) {
      Pointer copy(new Chunk);
      for (std::size_t i = 0; i < kChunk; ++i) copy->items[i] = pointer->items[i];
      pointer = std::move(copy);
    }
    return *pointer;
  }

  std::vector<Pointer> chunks_;
  std::size_t size_ = 0;
};

}  // namespace fheres
