#include <fheres/ring/ntt_tables.hpp>
#include <fheres/scheme/primes.hpp>

namespace fheres::ring {

NttTables NttTables::make(int log_n, const scheme::Modulus& q) {
  const std::size_t n = std::size_t{1} << log_n;
  NttTables tables;
  tables.psi = scheme::smallest_primitive_root(q.value, 2 * n);
  tables.n_inverse = make_shoup(scheme::inverse_mod(n % q.value, q), q.value);
  const auto powers_of = [&](std::uint64_t root) {
    std::vector<Shoup> powers(n);
    std::uint64_t power = 1;
    for (std::size_t i = 0; i < n; ++i) {
      powers[reverse_bits(static_cast<std::uint32_t>(i), log_n)] = make_shoup(power, q.value);
      power = mul_barrett(power, root, q);
    }
    return powers;
  };
  tables.forward = powers_of(tables.psi);
  tables.inverse = powers_of(scheme::inverse_mod(tables.psi, q));
  return tables;
}

}  // namespace fheres::ring
