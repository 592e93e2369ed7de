#include "expression.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include <fheres/workload/check.hpp>

#include "node.hpp"

namespace fheres::documents {
namespace {

constexpr const char* kBroken = "FHR0602";
constexpr const char* kUnknown = "FHR0603";
constexpr const char* kRange = "FHR0604";
constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxName = 32;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Recursive descent, one function for each level of precedence. Throws BadExpression.
class Evaluation {
 public:
  Evaluation(std::string_view text, std::span<const Variable> variables)
      : text_(text), variables_(variables) {}

  std::int64_t run() {
    const std::int64_t value = sum();
    if (at_ != text_.size()) fail(fmt::format("`{}` stands after its end", clipped(text_.substr(at_))));
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw BadExpression{kBroken, fmt::format("the expression `{}` cannot be read: {}", clipped(text_), why),
                        "write whole numbers, variables, + - * / % and parentheses: `${t*64+1}`"};
  }
  [[noreturn]] void fail_range(const std::string& why) const {
    throw BadExpression{kRange, fmt::format("the expression `{}` has no value: {}", clipped(text_), why)};
  }

  /// The next character that is no blank; 0 at the end.
  char next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  std::int64_t sum() {
    std::int64_t value = product();
    for (char sign = next(); sign == '+' || sign == '-'; sign = next()) {
      ++at_;
      const std::int64_t other = product();
      const bool over = sign == '+' ? __builtin_add_overflow(value, other, &value)
                                    : __builtin_sub_overflow(value, other, &value);
      if (over) fail_range("it leaves 64 bits");
    }
    return value;
  }

  std::int64_t product() {
    std::int64_t value = factor();
    for (char sign = next(); sign == '*' || sign == '/' || sign == '%'; sign = next()) {
      ++at_;
      const std::int64_t other = factor();
      if (sign == '*') {
        if (__builtin_mul_overflow(value, other, &value)) fail_range("it leaves 64 bits");
      } else {
        value = divided(value, other, sign == '/');
      }
    }
    return value;
  }

  std::int64_t divided(std::int64_t value, std::int64_t by, bool quotient) const {
    if (by == 0) fail_range("it divides by zero");
    if (by == -1) {  // the one quotient that can leave 64 bits
      if (quotient && __builtin_sub_overflow(std::int64_t{0}, value, &value)) fail_range("it leaves 64 bits");
      return quotient ? value : 0;
    }
    const std::int64_t rest = value % by;
    const bool down = rest != 0 && (rest < 0) != (by < 0);
    if (quotient) return value / by - (down ? 1 : 0);
    return down ? rest + by : rest;
  }

  std::int64_t factor() {
    bool negative = false;
    char c = next();
    for (; c == '+' || c == '-'; c = next()) {
      negative ^= c == '-';
      ++at_;
    }
    std::int64_t value = 0;
    if (c == '(') {
      if (++depth_ > kMaxDepth) fail(fmt::format("parentheses nest more than {} deep", kMaxDepth));
      ++at_;
      value = sum();
      if (next() != ')') fail("a parenthesis is not closed");
      ++at_;
      --depth_;
    } else if (is_digit(c)) {
      value = number();
    } else if (is_letter(c)) {
      value = variable();
    } else {
      fail(c == '\0' ? "a number or variable is missing at its end"
                     : fmt::format("`{}` stands where a number or variable is expected",
                                   clipped(text_.substr(at_))));
    }
    if (negative && __builtin_sub_overflow(std::int64_t{0}, value, &value)) fail_range("it leaves 64 bits");
    return value;
  }

  std::int64_t number() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc{}) fail_range("a number in it leaves 64 bits");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  std::int64_t variable() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    std::vector<std::string> names;
    for (const Variable& known : variables_) {
      if (known.name == name) return known.value;
      names.push_back(known.name);
    }
    const std::string near = workload::closest(clipped(name), names);
    throw BadExpression{kUnknown, fmt::format("there is no variable `{}`", clipped(name)),
                        near.empty() ? fmt::format("`for` has: {}", fmt::join(names, ", "))
                                     : fmt::format("did you mean `{}`?", near)};
  }

  std::string_view text_;
  std::span<const Variable> variables_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

bool has_expression(std::string_view text) { return text.find("${") != text.npos; }

bool is_variable_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

std::variant<std::int64_t, BadExpression> evaluate(std::string_view text,
                                                   std::span<const Variable> variables) {
  try {
    return Evaluation(text, variables).run();
  } catch (BadExpression& bad) {
    return std::move(bad);
  }
}

std::variant<std::string, BadExpression> substitute(std::string_view text,
                                                    std::span<const Variable> variables) {
  std::string result;
  for (auto begin = text.find("${"); begin != text.npos; begin = text.find("${")) {
    const auto end = text.find('}', begin);
    if (end == text.npos) {
      return BadExpression{kBroken, fmt::format("`{}` has no closing `}}`", clipped(text.substr(begin)))};
    }
    const auto value = evaluate(text.substr(begin + 2, end - begin - 2), variables);
    if (const auto* bad = std::get_if<BadExpression>(&value)) return *bad;
    result.append(text.substr(0, begin)).append(std::to_string(std::get<std::int64_t>(value)));
    text.remove_prefix(end + 1);
  }
  return result.append(text);
}

}  // namespace fheres::documents
