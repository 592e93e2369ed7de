#pragma once

#include <memory>

#include <fheres/memory/driver.hpp>
#include <fheres/ring/basis.hpp>

#include "ring/cuda/double_sums.hpp"
#include "ring/cuda/ntt_pass.hpp"

namespace fheres::ring::cuda {

/// x -> x factor + offset modulo a prime: how an inverse transform ends, its 1/N included in `factor`.
struct alignas(16) Affine {
  Shoup factor;
  u64 offset = 0;
  u64 unused = 0;
};

/// What a source residue is multiplied by on its way to a prime that is computed in doubles: a factor, and where the
/// source's prime is not, 2^30 times that factor for the bits from 30 up. Modulo the prime, of least absolute value.
struct alignas(16) Factor {
  double low = 0;
  double high = 0;
};
/// A prime as arithmetic in doubles wants it.
struct alignas(16) DoublePrime {
  double q = 0;
  double inverse = 0;
  double sum_unit = 0;       // 2^kSumBits modulo q, over 2^kSumBits
  double minus_special = 0;  // -P modulo q
};
/// What decides how work is dealt to the blocks of a launch.
struct DeviceShape {
  int multiprocessors = 1;
  bool clusters = false;  // whether blocks can stand in clusters (cluster.cuh)
};
/// The constants of one basis as kernels read them: pointers into one piece of device storage, passed by value.
/// Indices as in ring::ConversionTables; t is a prime index, i a Q limb, s a special limb.
struct Tables {
  DeviceShape device;
  int log_n = 0;
  int special_limbs = 0;
  int q_limbs = 0;
  int digit_limbs = 0;
  const scheme::Modulus* primes = nullptr;  // [t]
  const unsigned* root_at = nullptr;        // [t]: where the prime's roots begin in forward and inverse
  const u64* forward = nullptr;             // [t][N] roots, as the prime's field reads them
  const u64* inverse = nullptr;             // likewise
  const Affine* end_plain = nullptr;        // [t]: 1/N
  const Affine* end_up = nullptr;           // [m - 1][i]: up_inverse / N, plus up_half
  const Affine* end_down = nullptr;         // [s]: (x / N + special_half) down_inverse
  const u64* up_factor = nullptr;           // [m - 1][t][i]
  const u64* up_offset = nullptr;           // [m - 1][t][j]
  const u64* down_factor = nullptr;         // [t][s]
  const Factor* up_pieces = nullptr;        // [m - 1][t][i]: up_factor, for t in doubles
  const Factor* down_pieces = nullptr;      // [t][s]: down_factor, likewise
  const DoublePrime* doubles = nullptr;     // [t]
  const u64* down_ratio = nullptr;          // [s]
  const u64* down_shift = nullptr;          // [s]: bits(p_s) - 1
  const u64* special = nullptr;             // [t]
  const u64* special_half = nullptr;        // [t]
  const Shoup* special_inverse = nullptr;   // [t]
  const Shoup* last_inverse = nullptr;      // [last][i]
};

/// Owner of the storage behind Tables: one allocation of the driver at `device`, filled on construction, freed on
/// destruction.
class DeviceTables {
 public:
  DeviceTables(const Basis& basis, std::shared_ptr<memory::Driver> driver, memory::Location device,
               const DeviceShape& shape);
  ~DeviceTables();
  DeviceTables(const DeviceTables&) = delete;
  DeviceTables& operator=(const DeviceTables&) = delete;

  const Tables& get() const { return tables_; }
  Bytes bytes() const { return bytes_; }

 private:
  std::shared_ptr<memory::Driver> driver_;
  memory::Location device_;
  std::byte* storage_ = nullptr;
  Bytes bytes_ = 0;
  Tables tables_;
};

}  // namespace fheres::ring::cuda
