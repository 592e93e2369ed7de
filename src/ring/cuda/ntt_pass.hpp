#pragma once

#include "ring/cuda/field.hpp"

// One pass of a negacyclic transform: 2^kLog points, in rounds of a few stages. A thread holds a few points in registers
// during a round; between rounds the points change hands in shared memory. This file is index arithmetic and butterflies
// only, so a test on the host can run a whole pass, thread by thread.
//
// A transform of N = P1 P2 points is two passes. Forward: columns (P1 points with stride P2, twiddle base 1), then
// rows (P2 neighbouring points; the base of row r is P1 + r). Inverse: rows, then columns. Stage t of a pass joins
// points 2^(kLog - t - 1) apart; its twiddle for the points whose top t bits are h is table[(base << t) + h]. That is
// the table psi^bitreverse(i) of a transform from natural to bit-reversed order (Longa and Naehrig 2016).
//
// Indices are sums of a part that the thread decides and one that is known when the code is compiled, in disjoint bits:
// the second becomes the offset of a memory access, and costs nothing.
namespace fheres::ring::cuda {

inline constexpr int kWidth = 8;  // columns or rows of a block

/// The shape of a pass at N = 2^kLogN, where a thread holds 2^kHeldLogOf points.
template <int kLogN, bool kColumnsOf, int kHeldLogOf = kLogN <= 14 ? 2 : 3>
struct Pass {
  static constexpr bool kColumns = kColumnsOf;
  static constexpr int kLog = kColumns ? (kLogN + 1) / 2 : kLogN / 2;
  static constexpr int kOtherLog = kLogN - kLog;  // 2^kOtherLog columns or rows
  /// Points a thread holds. Twice as many are a round or two less, but leave room for half as many threads, and a small
  /// ring needs the threads.
  static constexpr int kHeldLog = kHeldLogOf;
  static constexpr int kHeld = 1 << kHeldLog;
  static constexpr int kLanes = 1 << (kLog - kHeldLog);  // threads of a column or row
  static constexpr int kThreads = kWidth * kLanes;
  static constexpr int kTiles = (1 << kOtherLog) / kWidth;

  /// Rounds are as few and as even as the points a thread holds allow. First stage and stages of round r.
  static constexpr int kRounds = (kLog + kHeldLog - 1) / kHeldLog;
  FHERES_INLINE static constexpr int depth(int r) { return kLog / kRounds + (r < kLog % kRounds ? 1 : 0); }
  FHERES_INLINE static constexpr int start(int r) { return r == 0 ? 0 : start(r - 1) + depth(r - 1); }

  /// Threads next to each other touch neighbouring words of global memory: columns vary fastest in the one kind of
  /// pass, lanes in the other.
  FHERES_INLINE static int member(int thread) { return kColumns ? thread % kWidth : thread / kLanes; }
  FHERES_INLINE static int lane(int thread) { return kColumns ? thread / kWidth : thread % kLanes; }
  /// Index below N of point p of line (column or row) 0, and of point 0 of a line.
  FHERES_INLINE static constexpr unsigned point_at(int p) {
    return static_cast<unsigned>(kColumns ? p << kOtherLog : p);
  }
  FHERES_INLINE static constexpr unsigned line_at(int line) {
    return static_cast<unsigned>(kColumns ? line : line << kLog);
  }
  FHERES_INLINE static constexpr unsigned base(int line) {
    return kColumns ? 1U : (1U << kOtherLog) + static_cast<unsigned>(line);
  }

  /// Shared memory: word of point p of member 0, and of point 0 of a member. Columns lie side by side. Padding, one
  /// step in 2^kPad, lets the strides of the rounds fall into different banks.
  static constexpr int kPad = depth(kRounds - 1);
  static constexpr int kPoints = (1 << kLog) + (1 << (kLog - kPad));
  static constexpr int kRow = kPoints / 16 * 16 + 8;
  static constexpr int kWords = kWidth * (kColumns ? kPoints : kRow);
  FHERES_INLINE static constexpr int point_word(int p) {
    const int padded = p + (p >> kPad);
    return kColumns ? padded * kWidth : padded;
  }
  FHERES_INLINE static constexpr int member_word(int member) { return kColumns ? member : member * kRow; }
};

/// Round r of a pass. A thread's points are 2^kDepth in each of kGroups groups, which only meet each other in this round.
template <class P, int kRound>
struct Round {
  static constexpr int kStart = P::start(kRound), kDepth = P::depth(kRound);
  static constexpr int kGroups = P::kHeld >> kDepth;
  static constexpr int kBelow = P::kLog - kStart - kDepth;  // bits of a point under the group's own

  /// Group k of a lane, and the bits above the group's own, which select the twiddles.
  FHERES_INLINE static constexpr int group(int lane, int k) { return lane + k * P::kLanes; }
  FHERES_INLINE static constexpr int above(int group) { return group >> kBelow; }
  /// The first of a lane's points, and how much further point h is.
  FHERES_INLINE static constexpr int first_point(int lane) { return spread(lane); }
  FHERES_INLINE static constexpr int further(int h) {
    return spread((h >> kDepth) * P::kLanes) | ((h & ((1 << kDepth) - 1)) << kBelow);
  }
  /// Next to memory, neighbours in a row are better off in neighbouring threads. A round of rows that holds neighbours
  /// gives and takes points kLanes apart instead: they change hands once more.
  static constexpr bool kTurns = !P::kColumns && kBelow == 0;
  FHERES_INLINE static constexpr int first_outer(int lane) { return kTurns ? lane : first_point(lane); }
  FHERES_INLINE static constexpr int outer_further(int h) { return kTurns ? h * P::kLanes : further(h); }

 private:
  FHERES_INLINE static constexpr int spread(int group) {
    return (above(group) << (kBelow + kDepth)) | (group & ((1 << kBelow) - 1));
  }
};

/// Stage kStage of a round on one group of points. Blocks of the stage go in pairs, whose twiddles are neighbours;
/// `roots` begins at the first one's.
template <int kDepth, int kStage, bool kForward, class Field>
FHERES_INLINE void join_points(typename Field::Number* x, const u64* roots, const Field& field) {
  constexpr int kHalf = 1 << (kDepth - kStage - 1);
  const auto join = [&field](typename Field::Number& a, typename Field::Number& b, typename Field::Root w) {
    if constexpr (kForward) {
      field.forward(a, b, w);
    } else {
      field.inverse(a, b, w);
    }
  };
  if constexpr (kStage == 0) {
    const typename Field::Root w = Field::root(roots, 0);
    FHERES_UNROLL
    for (int i = 0; i < kHalf; ++i) join(x[i], x[i + kHalf], w);
  } else {
    FHERES_UNROLL
    for (int h = 0; h < (1 << kStage); h += 2) {
      typename Field::Root w[2];
      Field::two_roots(roots, h, w);
      FHERES_UNROLL
      for (int i = 0; i < kHalf; ++i) {
        const int at = 2 * kHalf * h + i;
        join(x[at], x[at + kHalf], w[0]);
        join(x[at + 2 * kHalf], x[at + 3 * kHalf], w[1]);
      }
    }
  }
}

/// The round's stages on the points x[k << kDepth | e]: forward first to last, else last to first, and then sums are
/// brought back into the field's range.
template <class R, bool kForward, int kStep = 0, class Field, int kHeld>
FHERES_INLINE void transform_round(typename Field::Number (&x)[kHeld], int lane, unsigned base,
                                   const u64* table, const Field& field) {
  constexpr int kStage = kForward ? kStep : R::kDepth - 1 - kStep;
  FHERES_UNROLL
  for (int k = 0; k < R::kGroups; ++k) {
    const int above = R::above(R::group(lane, k));
    const unsigned first = (base << (R::kStart + kStage)) + (static_cast<unsigned>(above) << kStage);
    join_points<R::kDepth, kStage, kForward>(x + (k << R::kDepth), table + first * Field::kRootWords, field);
  }
  if constexpr (kStep + 1 < R::kDepth) {
    transform_round<R, kForward, kStep + 1>(x, lane, base, table, field);
  } else if constexpr (!kForward) {
    FHERES_UNROLL
    for (int k = 0; k < R::kGroups; ++k) {
      FHERES_UNROLL
      for (int e = 0; e < (1 << R::kDepth) / 2; ++e) {  // the others are products
        x[(k << R::kDepth) + e] = field.settle(x[(k << R::kDepth) + e]);
      }
    }
  }
}

}  // namespace fheres::ring::cuda
