#pragma once

#include "ring/cuda/ntt_pass.hpp"
#include "ring/cuda/tables.hpp"

// Tables on their way into shared memory. They are constant, so a kernel may fetch them before begin_kernel(), while the
// kernels before it still run, and does not meet the latency of its roots in every round.
namespace fheres::ring::cuda {

/// 16 bytes from global to shared memory, asynchronously.
__device__ __forceinline__ void copy_near(u64* to, const u64* from) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
}
/// Ends a group of copies of this thread.
__device__ __forceinline__ void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Until at most kLeft of this thread's groups are on their way.
template <int kLeft>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

/// Roots as the rounds of one line read them: root h of stage t is the one at table[(base << t) + h], of so many words.
/// kLeft: how many groups of copies may be on their way when they are used; -1 where they are there already.
template <int kLeft>
struct Roots {
  const u64* table;
  unsigned base;
  __device__ __forceinline__ void wait() const {
    if constexpr (kLeft >= 0) {
      wait_for_copies<kLeft>();
      __syncthreads();
    }
  }
};

/// A prime, and the roots of a block's lines, fetched when this is made: one group of copies.
template <class P, bool kForward>
class Near {
 public:
  /// Roots of columns are the first of the table. Those of kWidth rows stand as if there were no others: row m has the
  /// base kWidth + m, and what would stand before the first is left out.
  static constexpr int kRoots = P::kColumns ? 1 << P::kLog : kWidth << P::kLog;
  static constexpr int kMost = P::kColumns ? 512 : 2048;  // words; more stay where they are
  static constexpr int kWords = 2 * kRoots < kMost ? 2 * kRoots : kMost;
  template <class Field>
  static constexpr bool kFits = kRoots* Field::kRootWords <= kWords;

  /// `words`: kWords of shared memory, aligned to 16 bytes. Where it is not wanted, nothing is copied.
  __device__ __forceinline__ Near(const Tables& tables, int prime, u64* words, bool wanted = true)
      : words_(words),
        far_((kForward ? tables.forward : tables.inverse) + tables.root_at[prime]),
        q_(tables.primes[prime].value),
        double_q_(tables.doubles[prime].q),
        inverse_(tables.doubles[prime].inverse) {
    if (wanted && in_doubles(q_)) {
      fetch<DoubleField>();
    } else if (wanted) {
      fetch<IntegerField>();
    }
    end_copies();
  }

  __device__ __forceinline__ bool doubles() const { return in_doubles(q_); }
  __device__ __forceinline__ DoubleField double_field() const { return {double_q_, inverse_}; }
  __device__ __forceinline__ IntegerField integer_field() const { return IntegerField(q_); }

  /// For the line of this thread.
  template <class Field, int kLeft>
  __device__ __forceinline__ Roots<kLeft> roots() const {
    const int member = P::member(static_cast<int>(threadIdx.x));
    if constexpr (!kFits<Field>) {
      return {far_, P::base(static_cast<int>(blockIdx.x) * kWidth + member)};
    } else if constexpr (P::kColumns) {
      return {words_, 1};
    } else {
      return {words_ - kWidth * Field::kRootWords, static_cast<unsigned>(kWidth + member)};
    }
  }

 private:
  template <class Field>
  __device__ __forceinline__ void fetch() const {
    if constexpr (kFits<Field>) {
      constexpr int kStep = 2 * P::kThreads;
      const int first = 2 * static_cast<int>(threadIdx.x);
      if constexpr (P::kColumns) {
#pragma unroll
        for (int i = 0; i < kRoots * Field::kRootWords; i += kStep) {
          if (first + i < kRoots * Field::kRootWords) copy_near(words_ + first + i, far_ + first + i);
        }
      } else {
        const unsigned base = P::base(static_cast<int>(blockIdx.x) * kWidth);
#pragma unroll
        for (int t = 0; t < P::kLog; ++t) {
          const int count = (kWidth << t) * Field::kRootWords;
          u64* const to = words_ + ((kWidth << t) - kWidth) * Field::kRootWords;
          const u64* const from = far_ + static_cast<std::size_t>(base << t) * Field::kRootWords;
#pragma unroll
          for (int i = 0; i < count; i += kStep) {
            if (first + i < count) copy_near(to + first + i, from + first + i);
          }
        }
      }
    }
  }

  u64* words_;
  const u64* far_;
  u64 q_;
  double double_q_, inverse_;
};

}  // namespace fheres::ring::cuda
