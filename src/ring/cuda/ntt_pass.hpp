#pragma once

#include "ring/cuda/field.hpp"

// One pass of a negacyclic transform: 2^kLog points, in rounds of up to three stages. A thread holds eight points in
// registers during a round; between rounds the points change hands in shared memory. This file is index arithmetic
// and butterflies only, so a test on the host can run a whole pass, thread by thread.
//
// A transform of N = P1 P2 points is two passes. Forward: columns (P1 points with stride P2, twiddle base 1), then
// rows (P2 neighbouring points; the base of row r is P1 + r). Inverse: rows, then columns. Stage t of a pass joins
// points 2^(kLog - t - 1) apart; its twiddle for the points whose top t bits are h is table[(base << t) + h]. That is
// the table psi^bitreverse(i) of a transform from natural to bit-reversed order (Longa and Naehrig 2016).
namespace fheres::ring::cuda {

inline constexpr int kHeld = 8;  // points a thread holds

/// Rounds of a pass: as even as three stages at most allow, so that a thread reads few twiddles a stage.
template <int kLog>
struct Rounds {
  static_assert(kLog >= 4 && kLog <= 9);
  static constexpr int kCount = kLog <= 6 ? 2 : 3;
  /// First stage and number of stages of round r.
  FHERES_INLINE static constexpr int depth(int r) { return kLog / kCount + (r < kLog % kCount ? 1 : 0); }
  FHERES_INLINE static constexpr int start(int r) { return r == 0 ? 0 : start(r - 1) + depth(r - 1); }
};

/// The kHeld points of thread `lane` (of 2^kLog / kHeld) in the round of stages [kStart, kStart + kDepth). They are
/// kHeld >> kDepth groups of 2^kDepth points that only meet each other in this round.
template <int kLog, int kStart, int kDepth>
struct Held {
  static constexpr int kLanes = (1 << kLog) / kHeld;
  static constexpr int kGroups = kHeld >> kDepth;
  static constexpr int kBelow = kLog - kStart - kDepth;  // bits of a point under the group's own

  FHERES_INLINE static int group(int lane, int k) { return lane + k * kLanes; }
  /// The bits above the group's own, which select the twiddles.
  FHERES_INLINE static int above(int group) { return group >> kBelow; }
  /// Point number h of the kHeld.
  FHERES_INLINE static int point(int lane, int h) {
    const int own = group(lane, h >> kDepth);
    const int e = h & ((1 << kDepth) - 1);
    return (above(own) << (kBelow + kDepth)) | (e << kBelow) | (own & ((1 << kBelow) - 1));
  }
};

/// The round's stages, first to last, on the points x[k << kDepth | e].
template <int kLog, int kStart, int kDepth, class Field>
FHERES_INLINE void forward_round(typename Field::Number (&x)[kHeld], int lane, u64 base, const Shoup* table,
                                 const Field& field) {
  using Map = Held<kLog, kStart, kDepth>;
  FHERES_UNROLL
  for (int k = 0; k < Map::kGroups; ++k) {
    const int above = Map::above(Map::group(lane, k));
    FHERES_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      const u64 first = (base << (kStart + j)) + (static_cast<u64>(above) << j);
      const int half = 1 << (kDepth - j - 1);
      FHERES_UNROLL
      for (int h = 0; h < (1 << j); ++h) {
        const typename Field::Root w = Field::root(read_factor(table, first + h));
        FHERES_UNROLL
        for (int i = 0; i < half; ++i) {
          const int at = (k << kDepth) + 2 * half * h + i;
          field.forward(x[at], x[at + half], w);
        }
      }
    }
  }
}

/// The round's stages, last to first; then sums are brought back into the field's range.
template <int kLog, int kStart, int kDepth, class Field>
FHERES_INLINE void inverse_round(typename Field::Number (&x)[kHeld], int lane, u64 base, const Shoup* table,
                                 const Field& field) {
  using Map = Held<kLog, kStart, kDepth>;
  FHERES_UNROLL
  for (int k = 0; k < Map::kGroups; ++k) {
    const int above = Map::above(Map::group(lane, k));
    FHERES_UNROLL
    for (int j = kDepth - 1; j >= 0; --j) {
      const u64 first = (base << (kStart + j)) + (static_cast<u64>(above) << j);
      const int half = 1 << (kDepth - j - 1);
      FHERES_UNROLL
      for (int h = 0; h < (1 << j); ++h) {
        const typename Field::Root w = Field::root(read_factor(table, first + h));
        FHERES_UNROLL
        for (int i = 0; i < half; ++i) {
          const int at = (k << kDepth) + 2 * half * h + i;
          field.inverse(x[at], x[at + half], w);
        }
      }
    }
    FHERES_UNROLL
    for (int e = 0; e < (1 << kDepth) / 2; ++e) {  // the others are products
      const int at = (k << kDepth) + e;
      x[at] = field.settle(x[at]);
    }
  }
}

/// Where a tile of kWidth columns or rows keeps point p of member m in shared memory. Columns lie side by side.
/// Rows are padded by two words in sixteen, so that the strides of the rounds fall into different banks.
inline constexpr int kWidth = 8;

template <int kLog, bool kColumns>
struct Tile {
  static constexpr int kRow = (1 << kLog) + (1 << kLog) / 8;
  static constexpr int kWords = kColumns ? (kWidth << kLog) : kWidth * kRow;
  static constexpr int kThreads = kWidth * ((1 << kLog) / kHeld);
  FHERES_INLINE static int word(int member, int p) {
    return kColumns ? p * kWidth + member : member * kRow + p + ((p >> 4) << 1);
  }
  /// Neighbouring threads touch neighbouring words of global memory: columns vary fastest in the one, lanes in the other.
  FHERES_INLINE static int member(int thread) {
    return kColumns ? thread % kWidth : thread / ((1 << kLog) / kHeld);
  }
  FHERES_INLINE static int lane(int thread) {
    return kColumns ? thread / kWidth : thread % ((1 << kLog) / kHeld);
  }
  /// Index below N of point p of a line (column or row); 2^other_log is the number of lines.
  FHERES_INLINE static unsigned position(int line, int p, int other_log) {
    return static_cast<unsigned>(kColumns ? (p << other_log) + line : (line << kLog) + p);
  }
  FHERES_INLINE static u64 base(int line, int other_log) {
    return kColumns ? 1 : (u64{1} << other_log) + static_cast<u64>(line);
  }
};

/// How N = 2^log_n splits: points of the column pass; the row pass has the rest.
FHERES_INLINE constexpr int column_log(int log_n) { return (log_n + 1) / 2; }

}  // namespace fheres::ring::cuda
