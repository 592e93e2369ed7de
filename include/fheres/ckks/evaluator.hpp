#pragma once

#include <cstddef>
#include <span>

#include <fheres/ckks/ciphertext.hpp>
#include <fheres/ckks/context.hpp>
#include <fheres/ckks/keys.hpp>
#include <fheres/ckks/plaintext.hpp>
#include <fheres/memory/stream.hpp>
#include <fheres/scheme/circuit.hpp>
#include <fheres/scheme/linear_transform.hpp>

namespace fheres::ckks {

/// Scratch storage of an operation, on the device, aligned to kGranule. Contents do not matter before or
/// after.
using Workspace = std::span<std::byte>;

/// The operands of one operation, for callers that learn the operation at run time. Order as in
/// scheme/operation.
struct Operands {
  std::span<const CiphertextView> ciphertexts;
  const PlaintextView* plaintext = nullptr;
  const KeyView* key = nullptr;
  const scheme::Scalar* scalar = nullptr;
};

/// Arithmetic on ciphertexts that somebody else stores, on the context's device.
///
/// Every operation: checks types through scheme::infer and throws StateError with both figures before
/// anything is queued; queues its work on `stream` (an empty stream on the cpu back end: complete on return);
/// allocates nothing. What one call queues goes to the device as one unit (ring::Backend::queue_as_one): on CUDA
/// a graph that is captured the second time the same operands come, and then replayed. `out` has exactly the
/// type that infer gives, and is written whole. Workspace has at least infer's bytes, and that many are used
/// exactly. `out` may be an input itself where scheme::works_in_place; elsewhere it overlaps no input, and
/// workspace overlaps nothing.
/// Results are bit-identical on every back end and for every group size. Thread safe.
class Evaluator {
 public:
  /// `group`: how many output limbs a key switch works on at a time, 0 for all at once: less workspace, a
  /// little slower (scheme::key_switch_workspace).
  explicit Evaluator(Context context, int group = 0);

  const Context& context() const { return context_; }
  int group() const { return group_; }

  using Stream = memory::Stream;
  void add(const CiphertextView& a, const CiphertextView& b, const CiphertextRef& out,
           const Stream& stream) const;
  void sub(const CiphertextView& a, const CiphertextView& b, const CiphertextRef& out,
           const Stream& stream) const;
  void negate(const CiphertextView& a, const CiphertextRef& out, const Stream& stream) const;
  /// A plaintext of an earlier level serves too: its first limbs are read.
  void add_plain(const CiphertextView& a, const PlaintextView& b, const CiphertextRef& out,
                 const Stream& stream) const;
  void sub_plain(const CiphertextView& a, const PlaintextView& b, const CiphertextRef& out,
                 const Stream& stream) const;
  /// b - a.
  void plain_sub(const CiphertextView& a, const PlaintextView& b, const CiphertextRef& out,
                 const Stream& stream) const;
  /// With a number in every slot: a + b, a - b, b - a, a * b (scheme::Scalar says at which scale).
  void add_scalar(const CiphertextView& a, const scheme::Scalar& b, const CiphertextRef& out,
                  const Stream& stream) const;
  void sub_scalar(const CiphertextView& a, const scheme::Scalar& b, const CiphertextRef& out,
                  const Stream& stream) const;
  void scalar_sub(const CiphertextView& a, const scheme::Scalar& b, const CiphertextRef& out,
                  const Stream& stream) const;
  void multiply_scalar(const CiphertextView& a, const scheme::Scalar& b, const CiphertextRef& out,
                       const Stream& stream) const;
  void multiply_plain(const CiphertextView& a, const PlaintextView& b, const CiphertextRef& out,
                      const Stream& stream) const;
  /// Three components.
  void multiply(const CiphertextView& a, const CiphertextView& b, const CiphertextRef& out,
                const Stream& stream) const;
  void square(const CiphertextView& a, const CiphertextRef& out, const Stream& stream) const;
  /// Two components: multiplied and relinearized without a third ever being stored.
  void multiply(const CiphertextView& a, const CiphertextView& b, const KeyView& key,
                const CiphertextRef& out, Workspace workspace, const Stream& stream) const;
  void square(const CiphertextView& a, const KeyView& key, const CiphertextRef& out, Workspace workspace,
              const Stream& stream) const;
  /// Multiplied, relinearized and rescaled in one: one level down, the residues of the two after each other.
  void multiply_rescale(const CiphertextView& a, const CiphertextView& b, const KeyView& key,
                        const CiphertextRef& out, Workspace workspace, const Stream& stream) const;
  void square_rescale(const CiphertextView& a, const KeyView& key, const CiphertextRef& out,
                      Workspace workspace, const Stream& stream) const;
  void relinearize(const CiphertextView& a, const KeyView& key, const CiphertextRef& out, Workspace workspace,
                   const Stream& stream) const;
  /// Divides by the level's last prime: one level down.
  void rescale(const CiphertextView& a, const CiphertextRef& out, Workspace workspace,
               const Stream& stream) const;
  /// One level down, from one canonical scale to the next: the dropped prime pays for a correcting constant.
  /// Any other scale, and every scale where they are managed by hand, stays as it is: only a limb is dropped.
  void mod_switch(const CiphertextView& a, const CiphertextRef& out, Workspace workspace,
                  const Stream& stream) const;
  /// Slot i goes to slot i + key.type().steps.
  void rotate(const CiphertextView& a, const KeyView& key, const CiphertextRef& out, Workspace workspace,
              const Stream& stream) const;
  void conjugate(const CiphertextView& a, const KeyView& key, const CiphertextRef& out, Workspace workspace,
                 const Stream& stream) const;

  /// One rotation or conjugation for each key, of one decomposition (scheme/rotations.hpp). As many results
  /// as keys; none overlaps another.
  void rotate_many(const CiphertextView& a, std::span<const KeyView> keys,
                   std::span<const CiphertextRef> outs, Workspace workspace, const Stream& stream) const;
  /// All steps of a finished circuit of the context's parameters and this evaluator's group (std::logic_error
  /// otherwise), for example scheme::sum_slots. `keys` have the circuit's types, in its order.
  void run(const scheme::Circuit& circuit, const CiphertextView& a, std::span<const KeyView> keys,
           const CiphertextRef& out, Workspace workspace, const Stream& stream) const;

  /// A matrix by its diagonals (scheme/linear_transform.hpp), not rescaled. Plaintexts in the order of
  /// transform.diagonals(), as encode_diagonals makes them.
  void linear_transform(const scheme::LinearTransform& transform, const CiphertextView& a,
                        std::span<const PlaintextView> diagonals, std::span<const KeyView> keys,
                        const CiphertextRef& out, Workspace workspace, const Stream& stream) const;

  /// A compact plaintext as a prepared one, over Q or over P and Q, of its scale, at its level or a later
  /// one.
  void expand(const PlaintextView& compact, const PlaintextRef& out, const Stream& stream) const;

  /// Any operation of scheme/operation.
  void apply(scheme::Operation operation, const Operands& operands, const CiphertextRef& out,
             Workspace workspace, const Stream& stream) const;

 private:
  Context context_;
  int group_;
};

}  // namespace fheres::ckks
