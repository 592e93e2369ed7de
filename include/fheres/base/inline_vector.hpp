#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace fheres {

/// A vector of plain values that are few, as a rule: the first `kInline` of them live inside it, so that it is copied
/// without touching the heap. The part of std::vector's interface that is used; iterators and references are
/// invalidated by every insertion and erasure, and by moving the vector.
template <class T, std::size_t kInline>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T> && kInline > 0);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;
  using reference = T&;
  using const_reference = const T&;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;

  InlineVector() noexcept {}
  InlineVector(const InlineVector& other) { append(other); }
  InlineVector(InlineVector&& other) noexcept { steal(other); }
  InlineVector& operator=(const InlineVector& other) {
    if (this == &other) return *this;
    size_ = 0;
    append(other);
    return *this;
  }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this == &other) return *this;
    free_heap();
    steal(other);
    return *this;
  }
  ~InlineVector() { free_heap(); }

  iterator begin() { return data(); }
  iterator end() { return data() + size_; }
  const_iterator begin() const { return data(); }
  const_iterator end() const { return data() + size_; }
  T* data() { return on_heap() ? heap_ : std::launder(reinterpret_cast<T*>(here_)); }
  const T* data() const { return on_heap() ? heap_ : std::launder(reinterpret_cast<const T*>(here_)); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void clear() { size_ = 0; }
  void push_back(const T& value) { insert(end(), value); }
  iterator insert(const_iterator before, const T& value) {
    const T kept = value;  // it may live in here
    const std::size_t index = static_cast<std::size_t>(before - data());
    grow_to(std::size_t{size_} + 1);
    T* const at = data() + index;
    std::memmove(static_cast<void*>(at + 1), static_cast<const void*>(at), (size_ - index) * sizeof(T));
    ::new (static_cast<void*>(at)) T(kept);
    ++size_;
    return at;
  }
  iterator erase(const_iterator gone) {
    T* const at = data() + (gone - data());
    std::memmove(static_cast<void*>(at), static_cast<const void*>(at + 1),
                 static_cast<std::size_t>(end() - at - 1) * sizeof(T));
    --size_;
    return at;
  }

 private:
  bool on_heap() const { return capacity_ > kInline; }
  void free_heap() {
    if (on_heap()) std::allocator<T>().deallocate(heap_, capacity_);
    capacity_ = kInline;
  }
  void grow_to(std::size_t wanted) {
    if (wanted <= capacity_) return;
    const auto capacity = static_cast<std::uint32_t>(std::max(wanted, std::size_t{2} * capacity_));
    T* const fresh = std::allocator<T>().allocate(capacity);
    std::memcpy(static_cast<void*>(fresh), static_cast<const void*>(data()), size_ * sizeof(T));
    free_heap();
    heap_ = fresh;
    capacity_ = capacity;
  }
  void append(const InlineVector& other) {
    grow_to(other.size_);
    std::memcpy(static_cast<void*>(data()), static_cast<const void*>(other.data()), other.size_ * sizeof(T));
    size_ = other.size_;
  }
  // Only where nothing of ours is on the heap.
  void steal(InlineVector& other) {
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, static_cast<std::uint32_t>(kInline));
    if (on_heap()) {
      heap_ = other.heap_;
    } else {
      std::memcpy(here_, other.here_, size_ * sizeof(T));
    }
  }

  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = kInline;
  union {
    T* heap_;
    alignas(T) std::byte here_[kInline * sizeof(T)];
  };
};

}  // namespace fheres
