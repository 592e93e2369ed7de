#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include <fheres/base/bytes.hpp>
#include <fheres/memory/driver.hpp>
#include <fheres/memory/stream.hpp>
#include <fheres/ring/basis.hpp>
#include <fheres/ring/poly.hpp>

namespace fheres::ring {

inline constexpr Bytes kSeedBytes = 32;

/// What queue_as_one came to since the back end was made: operations that were new and went launch by launch, those that
/// were captured, and those replayed; graphs thrown away for others, and those kept now.
struct GraphCounts {
  std::uint64_t first = 0;
  std::uint64_t captured = 0;
  std::uint64_t replayed = 0;
  std::uint64_t evicted = 0;
  int held = 0;
};

/// Whole-polynomial arithmetic on one device. One of the project's three virtual interfaces; `cpu` and `cuda`
/// give bit-identical results.
///
/// Common to every operation, unless it says otherwise:
/// - Operands are views of device storage; nothing allocates, and workspace (`tile`) is passed in. Its
///   contents on entry do not matter.
/// - Work is queued on `stream`; the caller keeps all storage alive and still until the stream has passed.
///   The cpu back end runs inline, complete on return, where the stream is empty.
/// - Every residue is canonical, in [0, q), on entry and on return. So results do not depend on the
///   algorithm.
/// - All views of one call cover the same primes (first_prime and limbs agree) and N is the basis's.
/// - The output is written whole and may be the very same view as an input of its shape ("in place"); it must
///   not overlap an input in any other way, nor a `tile`.
/// - Domain: pointwise operations do not care; others say ntt or coefficient. The transform order is pinned
///   in ring/ntt_tables.hpp.
/// - A shape that breaks a contract is std::logic_error, thrown before anything is queued. Const members are
///   thread safe. Device failures throw memory::DeviceError.
class Backend {
 public:
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  const Basis& basis() const { return *basis_; }
  const std::shared_ptr<const Basis>& shared_basis() const { return basis_; }
  /// `cpu` or `cuda`.
  virtual std::string name() const = 0;
  /// Bytes of tables that this object keeps on its device: roots (4 b a prime), and constants of conversion.
  virtual Bytes table_bytes() const = 0;

  /// Calls `work`, which queues operations of this back end on `stream` and nothing else. A device may take them as one
  /// unit, with one launch (CUDA: a captured graph that is kept, ring/cuda.hpp): then nothing is queued before `work`
  /// returns, and nothing at all where it throws, but for long ones, which begin when it is seen that the launches cost
  /// nothing. May be nested. Results are the same.
  virtual void queue_as_one(const memory::Stream&, const std::function<void()>& work) const { work(); }
  virtual GraphCounts graph_counts() const { return {}; }

  // Transforms, every limb and polynomial in one call.
  /// Coefficients to ntt, in place.
  virtual void forward(View values, const memory::Stream& stream) const = 0;
  /// ntt to coefficients, 1/N included.
  virtual void inverse(ConstView in, View out, const memory::Stream& stream) const = 0;
  /// out = in(X^exponent), both ntt; not in place.
  virtual void automorphism(ConstView in, Automorphism automorphism, View out,
                            const memory::Stream& stream) const = 0;

  // Pointwise. Where b has fewer polynomials than a: see each.
  /// a + b, a - b. Polynomials that b lacks are a's, unchanged.
  virtual void add(ConstView a, ConstView b, View out, const memory::Stream& stream) const = 0;
  virtual void subtract(ConstView a, ConstView b, View out, const memory::Stream& stream) const = 0;
  virtual void negate(ConstView a, View out, const memory::Stream& stream) const = 0;
  /// a * b. b has as many polynomials as a, or one that serves all.
  virtual void multiply(ConstView a, ConstView b, View out, const memory::Stream& stream) const = 0;
  /// out += a * b, b as in multiply. `out` is an input too.
  virtual void multiply_add(ConstView a, ConstView b, View out, const memory::Stream& stream) const = 0;
  /// a * scalar; the scalar, above -2^127, is reduced modulo each prime.
  virtual void multiply_scalar(ConstView a, SignedWide scalar, View out,
                               const memory::Stream& stream) const = 0;
  /// a + scalar as a constant polynomial, ntt: added to every residue of polynomial 0; the others are a's,
  /// unchanged. The scalar as in multiply_scalar.
  virtual void add_scalar(ConstView a, SignedWide scalar, View out, const memory::Stream& stream) const = 0;
  virtual void copy(ConstView in, View out, const memory::Stream& stream) const = 0;
  /// Two polynomials each in, three out: (a0 b0, a0 b1 + a1 b0, a1 b1). a and b may be the same; not in
  /// place.
  virtual void tensor(ConstView a, ConstView b, View out, const memory::Stream& stream) const = 0;
  /// Two polynomials each: out0 += a0 b0, out1 += a0 b1 + a1 b0. `out` overlaps neither a nor b.
  virtual void tensor_add(ConstView a, ConstView b, View out, const memory::Stream& stream) const = 0;

  // Sums over P and Q together, whose places may be apart: the special limbs go to `special`, Q_0 .. to `out`. Without
  // data in `special`, `out` is all, and covers any range of primes. An input covers all of that, or the primes of `out`
  // alone: then it stands for zero at the special ones.
  /// The sum of the terms, each polynomial's exact before it is reduced. At least one term; of `out`, which has two
  /// polynomials, nothing overlaps an input.
  virtual void sum_products(std::span<const Term> terms, View special, View out,
                            const memory::Stream& stream) const = 0;
  /// a + b(X^exponent), all ntt; with `accumulate` what the output holds plus that. a covers all; polynomials that b lacks
  /// are a's. Overlaps nothing; but without `accumulate` and data in `special`, `out` may be a.
  virtual void add_turned(ConstView a, ConstView b, Automorphism automorphism, bool accumulate, View special,
                          View out, const memory::Stream& stream) const = 0;

  /// Signed words, one a coefficient, to residues in every limb of the one polynomial `out` (coefficient
  /// domain). `coefficients` is N words on the device, aligned as a view.
  virtual void lift(const std::int64_t* coefficients, View out, const memory::Stream& stream) const = 0;
  /// Uniform residues from a public seed of kSeedBytes bytes on the device (no alignment). Residue t of polynomial p
  /// in prime i (an index into the basis) is word t of a ChaCha20 stream, modulo the prime:
  /// - the stream is RFC 8439's, with the seed as key, a block counter from 0, and the 96-bit nonce 0, first + p, i:
  ///   three little-endian 32-bit words;
  /// - word t is bytes 16 t .. 16 t + 15 as a little-endian 128-bit integer; its bias modulo a prime is below 2^-67.
  /// So every limb and every polynomial expands alone. `first` is 0 or more.
  virtual void expand(const std::byte* seed, int first, View out, const memory::Stream& stream) const = 0;
  /// expand, and copy of `stored` to `copied`, of the same limbs and polynomials, in one: a value from its seeded half.
  virtual void expand_half(const std::byte* seed, ConstView stored, View copied, View uniform,
                           const memory::Stream& stream) const;

  // Key switching, in the order of use. l = active Q limbs, d = basis.digits(l), j(i) = i / a, m as in
  // ConversionTables.
  /// out_i = inverse(source_i) * up_inverse[m-1][i] + up_half[i]  mod q_i, for i < l: coefficient domain.
  /// `source` covers Q limbs 0 .. l-1. Overlaps nothing that source names. The half makes canonical residues
  /// stand for centred ones: mod_up takes it away again. Digits of mean zero matter: a mean is a multiple of
  /// 1 + X + .. + X^(N-1), whose value is large at the few slots next to zeta = 1, and so would be the error
  /// there.
  virtual void decompose(const Source& source, Digits out, const memory::Stream& stream) const = 0;

  /// Uncorrected conversion of the centred residues, then the forward transform. `out` has any contiguous
  /// range of the primes P, Q_0 .. Q_(l-1), and d polynomials, one a digit, ntt. For prime t and digit j
  /// without t among its primes:
  ///   out(t, j) = forward( sum over limbs i < l of digit j of digits_i * up_factor[m-1][t][i]
  ///                        + up_offset[m-1][t][j]  mod t )
  ///
  /// with the sum exact in 128 bits, reduced once. Where t is a limb of digit j, out(t, j) is not touched
  /// (its value would be the source itself). So `digits` may stand on those places: it may overlap `out`
  /// there and only there.
  virtual void mod_up(ConstDigits digits, View out, const memory::Stream& stream) const = 0;

  /// out(t, c) = sum over digits j < d:  extended(t, j) * key(t, c, j)  mod t,  c = 0, 1, all ntt; where t is
  /// a limb of digit j, source_t stands for extended(t, j). The sum is exact in 128 bits (d < 64), reduced
  /// once. `extended` and `out` cover the same primes, out has two polynomials; `source` covers Q limbs 0 ..
  /// l-1. `key` is the key's whole storage, [P limbs, then Q limbs ascending][component][key_digits][N], with
  /// at least l Q limbs and key_digits >= d digits.
  virtual void key_product(ConstView extended, const Source& source, const std::uint64_t* key, int key_digits,
                           View out, const memory::Stream& stream) const = 0;

  /// key_product where `extended` is of the source before its automorphism, and is read through it too: one
  /// extension serves many rotations (hoisting). Centred digits are odd functions of the coefficients, so the
  /// extension of a rotated source is the rotated extension, residue by residue: the result is the one that
  /// decomposing the rotated source gives. The source has no factor.
  virtual void hoisted_product(ConstView extended, const Source& source, const std::uint64_t* key,
                               int key_digits, View out, const memory::Stream& stream) const = 0;
  /// hoisted_product for each of several automorphisms of one source, and to component 0 `addend` through the same one:
  /// a polynomial over all limbs of `extended`, or over the last. No `out` overlaps another or what is read.
  virtual void hoisted_products(ConstView extended, ConstView source, ConstView addend,
                                std::span<const Rotation> rotations, const memory::Stream& stream) const = 0;

  /// hoisted_product over all of P, Q_0 .. Q_(l-1) at once: `extended` covers them all, the products of the special limbs
  /// go to `special`, those of the Q limbs to `out`.
  virtual void hoisted_whole(ConstView extended, const Source& source, const std::uint64_t* key,
                             int key_digits, View special, View out, const memory::Stream& stream) const;

  /// mod_up into `tile`, then key_product of it into `out`: the two are one so that a device need not write
  /// the transformed tile. `tile` is as mod_up's out, its contents on return are unspecified but for the
  /// places that mod_up does not touch. `digits` may stand in the tile as in mod_up. `out` must not overlap
  /// tile, digits, source.
  virtual void switch_group(ConstDigits digits, const Source& source, const std::uint64_t* key,
                            int key_digits, View tile, View out, const memory::Stream& stream) const;
  /// switch_group over all of P, Q_0 .. Q_(l-1) at once: `tile` covers them all, the products of the special
  /// limbs go to `special`, those of the Q limbs to `out`, but where `last` has data those of the last one there. None
  /// overlap.
  virtual void switch_whole(ConstDigits digits, const Source& source, const std::uint64_t* key,
                            int key_digits, View tile, View special, View out, View last,
                            const memory::Stream& stream) const;

  /// Prepares division by P. In place over the special primes, any number of polynomials, ntt in,
  /// coefficients out:
  ///   special_s = (inverse(special_s) + special_half[s]) * down_inverse[s]  mod p_s
  virtual void begin_mod_down(View special, const memory::Stream& stream) const = 0;

  /// Divides by P and rounds to nearest, for a contiguous range of Q limbs of `values` (in place, ntt), and
  /// adds `addend`. `special` is what begin_mod_down left: k limbs, as many polynomials as values. Per
  /// coefficient, with w_s the residues of special:
  ///   v        = floor( sum over s of floor(w_s * down_ratio[s] / 2^(bits(p_s) - 1)) / 2^64 ), in 128 bits
  ///   z_t      = sum over s of w_s * down_factor[t][s]  -  v * special[t]  -  special_half[t]  mod t
  ///   values_t = (values_t - forward(z_t)) * special_inverse[t] + addend_t  mod t
  ///
  /// The count v is exact unless x + P/2 is within 3 k P / 2^64 of a multiple of P, that is, halfway between
  /// two results: then it may round the other way, on every back end alike. `tile` has the shape of `values`,
  /// contents unspecified on return. `addend`: null data, or ntt polynomials for the first addend.polynomials
  /// of values, read through `automorphism`. It does not overlap values.
  virtual void mod_down(ConstView special, View values, ConstView addend, Automorphism automorphism,
                        View tile, const memory::Stream& stream) const = 0;

  /// mod_down and then tensor_add of two polynomials each into its result, in one: `values` = ModDown + (a0 b0,
  /// a0 b1 + a1 b0). a and b cover the primes of values, may be the same, and overlap neither it nor the tile.
  virtual void mod_down_tensor(ConstView special, View values, ConstView a, ConstView b, View tile,
                               const memory::Stream& stream) const;

  /// begin_mod_down, mod_down_tensor and rescale of a product over Q limbs 0 .. l-1 in one, which a device makes of one
  /// conversion: the last prime is one more special one. Before, `special`, `values` (limbs 0 .. l-2) and `last` (limb
  /// l-1) are what switch_whole gave; after, values is the result, the others unspecified. Two polynomials each; a and b
  /// have l limbs, and may be the same. `tile` has the shape of `values`.
  virtual void divide_product(View special, View values, View last, ConstView a, ConstView b, View tile,
                              const memory::Stream& stream) const;

  /// Divides by the last limb's prime and rounds to nearest, ntt to ntt. `in` has l >= 2 limbs of Q, `out`
  /// the first l - 1 of them; in is multiplied by `multiplier` first (reduced modulo each prime; 1 for a
  /// plain rescale). With q = the last prime, h = (q - 1) / 2:
  ///   y     = (inverse(in_last) * multiplier + h) mod q
  ///   out_t = (in_t * multiplier - forward(y - h mod t)) / q  mod t
  ///
  /// Exact. `last` is workspace: one limb, as many polynomials as in. out overlaps neither in nor last.
  virtual void rescale(ConstView in, std::uint64_t multiplier, View out, View last,
                       const memory::Stream& stream) const = 0;
  /// The same in two halves, in place and without a multiplier, for values that are made by groups of limbs. The
  /// first turns the last limb, one prime of Q, any number of polynomials, into y.
  virtual void begin_rescale(View last, const memory::Stream& stream) const = 0;
  /// The second, for a contiguous range of Q limbs before the last one. `last` is what begin_rescale left,
  /// `tile` has the shape of `values`, contents unspecified on return.
  virtual void finish_rescale(ConstView last, View values, View tile, const memory::Stream& stream) const = 0;

 protected:
  explicit Backend(std::shared_ptr<const Basis> basis) : basis_(std::move(basis)) {}

 private:
  std::shared_ptr<const Basis> basis_;
};

/// The host's back end. `driver` serves the streams that are passed in (emulated devices); it may be null
/// where all streams are empty. Limbs and polynomials are spread over one thread pool that all cpu back ends
/// share.
std::shared_ptr<const Backend> make_cpu_backend(std::shared_ptr<const Basis> basis,
                                                std::shared_ptr<memory::Driver> driver);
std::shared_ptr<const Backend> make_cpu_backend(const scheme::Parameters& parameters,
                                                std::shared_ptr<memory::Driver> driver);

/// Threads of the shared pool, the calling one included. 0: as many as the machine has cores (the default).
/// Takes effect when the pool is first used; later calls are ignored.
void use_threads(int threads);

}  // namespace fheres::ring
