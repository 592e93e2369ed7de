#pragma once

#include <string>

#include <fheres/base/shared_text.hpp>

namespace fheres::workload {

/// Where something stands in the text that it came from. Lines and columns count from 1; a column counts
/// characters. Line 0: it came from a program and stands nowhere.
struct Place {
  SharedText file;
  int line = 0;
  int column = 0;
  int length = 0;         // characters to underline, at least 1 where the line is known
  SharedText instance{};  // which item of an expanded entry: `t = 3`; empty elsewhere
  bool known() const { return line > 0; }
  friend auto operator<=>(const Place&, const Place&) = default;
};

/// A name, or a reference to one, and where the user wrote it.
struct Name {
  std::string text;
  Place place;
};

/// Something that is wrong with a document's content. Codes are stable (documents/diagnostic.hpp lists them).
struct Problem {
  std::string code;  // `FHR0301`
  Place place;
  std::string message;  // one lower-case line, expected against actual
  std::string hint;     // `did you mean ...`, or empty
};

}  // namespace fheres::workload
