#pragma once

#include <compare>
#include <memory>
#include <string>
#include <utility>

namespace fheres {

/// A text that never changes and that many owners share: a copy is two words and allocates nothing. Compares as the
/// text. An empty one owns nothing.
class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string text)
      : text_(text.empty() ? nullptr : std::make_shared<const std::string>(std::move(text))) {}
  SharedText(const char* text) : SharedText(std::string(text)) {}

  const std::string& str() const {
    static const std::string kEmpty;
    return text_ ? *text_ : kEmpty;
  }
  operator const std::string&() const { return str(); }
  bool empty() const { return !text_; }

  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ || a.str() == b.str();
  }
  friend std::strong_ordering operator<=>(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ ? std::strong_ordering::equal : a.str() <=> b.str();
  }

 private:
  std::shared_ptr<const std::string> text_;
};

}  // namespace fheres
