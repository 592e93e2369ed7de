#include "ring/cuda/pass.cuh"
#include "ring/cuda/transform.hpp"

namespace fheres::ring::cuda {
namespace {

struct Ended {
  Array to;
  Ends ends;
  struct Writer {
    u64* to;
    u64 q;
    Affine end;
    template <int kHeld, class At>
    __device__ __forceinline__ void drain(const u64 (&x)[kHeld], const At& at) const {
      u64 y[kHeld];
#pragma unroll
      for (int h = 0; h < kHeld; ++h) y[h] = add_reduced(mul_shoup(x[h], end.factor, q), end.offset, q);
      write_words(to, y, at);
    }
  };
  __device__ __forceinline__ Writer open(const Tables& tables, int prime, int limb, int polynomial) const {
    const Affine* const list = limb >= ends.partial_from ? ends.partial : ends.whole;
    return {to.at(limb, polynomial), tables.primes[prime].value, list == nullptr ? ends.one : list[limb]};
  }
};

}  // namespace

void forward_columns(const Tables& tables, const Job& job, const Array& values, cudaStream_t stream) {
  run_pass<true, true>("forward columns", tables, job, Plain{read_only(values)}, Stored{values}, stream);
}

void forward_rows(const Tables& tables, const Job& job, const Array& values, cudaStream_t stream) {
  run_pass<false, true>("forward rows", tables, job, Plain{read_only(values)}, Stored{values}, stream);
}

void inverse_rows(const Tables& tables, const Job& job, const ConstArray& in, const Array& out,
                  cudaStream_t stream) {
  run_pass<false, false>("inverse rows", tables, job, Plain{in}, Stored{out}, stream);
}

void inverse_columns(const Tables& tables, const Job& job, const Array& values, const Ends& ends,
                     cudaStream_t stream) {
  run_pass<true, false>("inverse columns", tables, job, Plain{read_only(values)}, Ended{values, ends},
                        stream);
}

}  // namespace fheres::ring::cuda
