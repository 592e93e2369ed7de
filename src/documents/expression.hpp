#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace fheres::documents {

/// A variable of a `for`, and its value in one item.
struct Variable {
  std::string name;
  std::int64_t value = 0;
};

/// Why an expression has no value.
struct BadExpression {
  const char* code;
  std::string message;
  std::string hint{};
};

/// Whether the text has an expression in it.
bool has_expression(std::string_view text);
/// A letter or `_`, then letters, digits and `_`; at most 32.
bool is_variable_name(std::string_view text);

/// The value of `t*64+1`: whole numbers of 64 bits, variables, `+ - * / %` with the usual precedence, signs and
/// parentheses (at most 64 deep). `/` rounds down and `%` is its remainder, which has the divisor's sign, so that
/// `(t-1)%16` goes round. What leaves 64 bits or divides by zero is refused.
std::variant<std::int64_t, BadExpression> evaluate(std::string_view text,
                                                   std::span<const Variable> variables);

/// The text with the value of each `${...}` in its place.
std::variant<std::string, BadExpression> substitute(std::string_view text,
                                                    std::span<const Variable> variables);

}  // namespace fheres::documents
