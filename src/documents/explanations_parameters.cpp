#include "explanations.hpp"

namespace fheres::documents {
namespace {

constexpr Explanation kParameters[] = {
    {"FHR0201", "A preset is a named set of CKKS parameters.", "parameters: {preset: slots8192}\n",
     "`fheres params` lists the presets with what they cost."},
    {"FHR0202",
     "CKKS parameters that contradict each other or the arithmetic: primes that are no NTT primes for this N "
     "or repeat, too "
     "few special primes for the digits, a scale larger than the primes that are to divide it away.",
     "parameters: {log_n: 14, q: [60, 40x7], p: [20], scale_bits: 40}\n",
     "The message has the figures; `fheres params --advise PRESET` shows choices that work."},
    {"FHR0203",
     "The product of all primes is too large for this N: an attack on the lattice would cost less than 2^128 "
     "steps by the "
     "table that `security` names.",
     "parameters: {log_n: 10, q: [60, 40x7], p: [60], scale_bits: 40}\n",
     "Take fewer or smaller primes, or a larger log_n. `security: none` accepts them for experiments, and "
     "every report says "
     "so."},
    {"FHR0204", "How large a ciphertext, plaintext or key is, hangs on the CKKS parameters.",
     "values:\n  w: {ciphertext: {message: {constant: 1}}, at: pinned-host}\n",
     "Add `parameters: {preset: ...}`, or describe the value by its size alone: `bytes: 2 MiB`."},
};

}  // namespace

std::span<const Explanation> parameter_explanations() { return kParameters; }

}  // namespace fheres::documents
