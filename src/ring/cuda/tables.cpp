#include "ring/cuda/tables.hpp"

#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

namespace fheres::ring::cuda {
namespace {

// Collects arrays on the host, each aligned to a granule, and remembers which pointer each belongs to.
class Packer {
 public:
  template <class T>
  void put(const std::vector<T>& values, const T** pointer) {
    const std::size_t at = bytes_.size();
    bytes_.resize(round_up_to_granule(at + values.size() * sizeof(T)));
    if (!values.empty()) std::memcpy(bytes_.data() + at, values.data(), values.size() * sizeof(T));
    fixes_.push_back({at, [pointer](std::byte* data) { *pointer = reinterpret_cast<const T*>(data); }});
  }
  void place(std::byte* base) const {
    for (const Fix& fix : fixes_) fix.set(base + fix.at);
  }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  struct Fix {
    std::size_t at;
    std::function<void(std::byte*)> set;
  };
  std::vector<std::byte> bytes_;
  std::vector<Fix> fixes_;
};

Affine affine(std::uint64_t factor, std::uint64_t offset, const scheme::Modulus& q) {
  return {make_shoup(factor, q.value), offset, 0};
}

void pack_roots(const Basis& basis, Packer& packer, Tables& tables) {
  std::vector<u64> forward, inverse;
  std::vector<unsigned> at;
  std::vector<scheme::Modulus> primes;
  for (int t = 0; t < basis.prime_count(); ++t) {
    const NttTables& ntt = basis.ntt(t);
    const u64 q = basis.prime(t).value;
    at.push_back(static_cast<unsigned>(forward.size()));
    append_roots(ntt.forward, q, forward);
    append_roots(ntt.inverse, q, inverse);
    primes.push_back(basis.prime(t));
  }
  packer.put(primes, &tables.primes);
  packer.put(at, &tables.root_at);
  packer.put(forward, &tables.forward);
  packer.put(inverse, &tables.inverse);
}

// x modulo q, of least absolute value.
double centred(std::uint64_t x, std::uint64_t q) {
  return x > q / 2 ? -static_cast<double>(q - x) : static_cast<double>(x);
}

Factor factor(std::uint64_t x, const scheme::Modulus& prime) {
  const std::uint64_t shifted = mul_barrett(x, reduce_word(u64{1} << 30, prime), prime);
  return {centred(x, prime.value), centred(shifted, prime.value)};
}

// `factors` has one row for every prime, over and over.
std::vector<Factor> factors(const Basis& basis, const std::vector<std::uint64_t>& values,
                            std::size_t row_length) {
  std::vector<Factor> out;
  out.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t t = i / row_length % static_cast<std::size_t>(basis.prime_count());
    out.push_back(factor(values[i], basis.prime(static_cast<int>(t))));
  }
  return out;
}

void pack_sums(const Basis& basis, Packer& packer, Tables& tables) {
  const ConversionTables& conversion = basis.conversion();
  std::vector<DoublePrime> doubles;
  for (int t = 0; t < basis.prime_count(); ++t) {
    const scheme::Modulus& prime = basis.prime(t);
    const std::uint64_t unit = reduce_word(u64{1} << kSumBits, prime);
    const std::uint64_t special = conversion.special[static_cast<std::size_t>(t)];
    doubles.push_back({static_cast<double>(prime.value), 1.0 / static_cast<double>(prime.value),
                       std::ldexp(centred(unit, prime.value), -kSumBits), -centred(special, prime.value)});
  }
  packer.put(doubles, &tables.doubles);
  packer.put(factors(basis, conversion.up_factor, static_cast<std::size_t>(basis.q_limbs())),
             &tables.up_pieces);
  packer.put(factors(basis, conversion.down_factor, static_cast<std::size_t>(basis.special_limbs())),
             &tables.down_pieces);
}

void pack_ends(const Basis& basis, Packer& packer, Tables& tables) {
  const ConversionTables& conversion = basis.conversion();
  const int k = basis.special_limbs();
  std::vector<Affine> plain, up, down;
  for (int t = 0; t < basis.prime_count(); ++t) {
    plain.push_back(affine(basis.ntt(t).n_inverse.value, 0, basis.prime(t)));
  }
  for (std::size_t at = 0; at < conversion.up_inverse.size(); ++at) {
    const int t = k + static_cast<int>(at % static_cast<std::size_t>(basis.q_limbs()));
    const scheme::Modulus& q = basis.prime(t);
    const std::uint64_t factor =
        mul_barrett(conversion.up_inverse[at].value, basis.ntt(t).n_inverse.value, q);
    up.push_back(affine(factor, conversion.up_half[static_cast<std::size_t>(t - k)], q));
  }
  for (int s = 0; s < k; ++s) {
    const auto at = static_cast<std::size_t>(s);
    const scheme::Modulus& p = basis.prime(s);
    const std::uint64_t inverse = conversion.down_inverse[at].value;
    down.push_back(affine(mul_barrett(inverse, basis.ntt(s).n_inverse.value, p),
                          mul_barrett(inverse, conversion.special_half[at], p), p));
  }
  packer.put(plain, &tables.end_plain);
  packer.put(up, &tables.end_up);
  packer.put(down, &tables.end_down);
}

}  // namespace

DeviceTables::DeviceTables(const Basis& basis, std::shared_ptr<memory::Driver> driver,
                           memory::Location device, const DeviceShape& shape)
    : driver_(std::move(driver)), device_(device) {
  const ConversionTables& conversion = basis.conversion();
  tables_.device = shape;
  tables_.log_n = basis.log_n();
  tables_.special_limbs = basis.special_limbs();
  tables_.q_limbs = basis.q_limbs();
  tables_.digit_limbs = basis.digit_limbs();

  Packer packer;
  pack_roots(basis, packer, tables_);
  pack_sums(basis, packer, tables_);
  pack_ends(basis, packer, tables_);
  std::vector<u64> shift;
  for (int s = 0; s < basis.special_limbs(); ++s)
    shift.push_back(static_cast<u64>(basis.prime(s).bits() - 1));
  packer.put(conversion.up_factor, &tables_.up_factor);
  packer.put(conversion.up_offset, &tables_.up_offset);
  packer.put(conversion.down_factor, &tables_.down_factor);
  packer.put(conversion.down_ratio, &tables_.down_ratio);
  packer.put(shift, &tables_.down_shift);
  packer.put(conversion.special, &tables_.special);
  packer.put(conversion.special_half, &tables_.special_half);
  packer.put(conversion.special_inverse, &tables_.special_inverse);
  packer.put(conversion.last_inverse, &tables_.last_inverse);

  bytes_ = packer.bytes().size();
  const memory::Stream stream = driver_->make_stream(device_, "tables");
  storage_ = driver_->allocate(device_, bytes_);
  try {
    driver_->copy(stream, {device_, storage_, bytes_},
                  {memory::Location::pageable_host(), packer.bytes().data(), bytes_});
    driver_->synchronize(stream);
  } catch (...) {
    driver_->deallocate(device_, storage_, bytes_);
    throw;
  }
  packer.place(storage_);
}

DeviceTables::~DeviceTables() { driver_->deallocate(device_, storage_, bytes_); }

}  // namespace fheres::ring::cuda
