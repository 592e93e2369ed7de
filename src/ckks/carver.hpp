#pragma once

#include <cstddef>
#include <cstdint>

#include <fheres/base/bytes.hpp>
#include <fheres/ring/poly.hpp>

namespace fheres::ckks {

/// Hands out an operation's workspace from the front, limb by limb.
class Carver {
 public:
  Carver(std::uint64_t* workspace, std::size_t n) : workspace_(workspace), n_(n) {}

  std::uint64_t* take(int limbs) {
    std::uint64_t* piece = workspace_ + used_;
    used_ += static_cast<std::size_t>(limbs) * n_;
    return piece;
  }
  ring::View take(int first_prime, int limbs, int polynomials) {
    return ring::dense_view(take(limbs * polynomials), first_prime, limbs, polynomials, n_);
  }
  /// Handed out so far: what is left of a signature's workspace after all pieces has to be nothing.
  Bytes used() const { return used_ * sizeof(std::uint64_t); }

 private:
  std::uint64_t* workspace_;
  std::size_t n_;
  std::size_t used_ = 0;
};

}  // namespace fheres::ckks
