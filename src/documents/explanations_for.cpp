#include "explanations.hpp"

namespace fheres::documents {
namespace {

constexpr Explanation kForExplanations[] = {
    {"FHR0601",
     "A `for` gives one to eight variables their values: a range with both ends, or a list of whole numbers. "
     "The entry then "
     "stands for one item of each combination, the last variable running fastest.",
     "values:\n  w${t}: {for: {t: 16}, bytes: 1 MiB, at: pinned-host}\n",
     "Write `for: {t: 0..15}`, or `for: {row: 0..3, column: [1, 2, 4]}`."},
    {"FHR0602", "Expressions are whole numbers, variables, + - * / %, and parentheses. `/` rounds down.",
     "values:\n  w${t**2}: {for: {t: 0..3}, bytes: 1 MiB, at: pinned-host}\n",
     "Write for example `${t*64+1}` or `${(t-1)%16}`, with its closing brace."},
    {"FHR0603",
     "An expression can only use the variables of the `for` of its own value, stage or request; elsewhere "
     "there are none.",
     "values:\n  w${i}: {for: {t: 0..3}, bytes: 1 MiB, at: pinned-host}\n",
     "Correct the name of the variable, or give the entry its `for`."},
    {"FHR0604",
     "Expressions are computed exactly in 64 bits; what leaves them, or divides by zero, has no value.",
     "values:\n  w${4/t}: {for: {t: 0..3}, bytes: 1 MiB, at: pinned-host}\n",
     "Begin the range elsewhere, or change the expression; the message says for which item."},
    {"FHR0605",
     "A `for` of a few characters can stand for more than any machine holds. So all of a document together "
     "make at most a "
     "million items, with a million scalars, lists and maps in them and 64 MiB of text.",
     "values:\n  w${i}-${j}: {for: {i: 0..9999, j: 0..9999}, bytes: 1 KiB, at: pinned-host}\n",
     "Make the ranges smaller."},
};

}  // namespace

std::span<const Explanation> for_explanations() { return kForExplanations; }

}  // namespace fheres::documents
