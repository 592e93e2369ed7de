#pragma once

#include <string>

#include <fmt/format.h>

#include <fheres/memory/location.hpp>
#include <fheres/report/timeline.hpp>

namespace fheres::report {

/// One place in a document of ours that is read back, with its JSON pointer for errors. Every access checks what is
/// there and throws ReportError.
class Reading {
 public:
  explicit Reading(const Json& json, std::string place = "") : json_(&json), place_(std::move(place)) {}

  Reading operator[](const char* key) const {
    if (!json_->is_object()) wrong("an object");
    const auto found = json_->find(key);
    if (found == json_->end()) throw ReportError(fmt::format("{}: `{}` is missing", place(), key));
    return Reading(*found, fmt::format("{}/{}", place_, key));
  }
  bool is_null() const { return json_->is_null(); }
  bool has(const char* key) const { return json_->is_object() && json_->contains(key); }

  std::string text() const {
    if (!json_->is_string()) wrong("a text");
    return json_->get<std::string>();
  }
  std::string location() const {
    if (const std::string name = text(); memory::Location::from_name(name)) return name;
    wrong("a location");
  }
  std::string location_or_empty() const { return is_null() ? std::string() : location(); }
  bool flag() const {
    if (!json_->is_boolean()) wrong("true or false");
    return json_->get<bool>();
  }
  std::int64_t time() const {
    if (!json_->is_number_integer()) wrong("a time in ns");
    return json_->get<std::int64_t>();
  }
  std::uint64_t count() const {
    if (!json_->is_number_unsigned()) wrong("a number that is not negative");
    return json_->get<std::uint64_t>();
  }

  template <class Function>
  void each(const Function& function) const {
    if (!json_->is_array()) wrong("a list");
    for (std::size_t i = 0; i < json_->size(); ++i)
      function(Reading((*json_)[i], fmt::format("{}/{}", place_, i)));
  }
  /// The first key of an object, which names what the object is: `{"ensure": "x", "at": ...}`.
  std::string first_key() const {
    if (!json_->is_object() || json_->empty()) wrong("an action");
    return json_->begin().key();
  }

 private:
  std::string place() const { return place_.empty() ? "/" : place_; }
  [[noreturn]] void wrong(const char* expected) const {
    throw ReportError(fmt::format("{}: expected {}, found {}", place(), expected, json_->type_name()));
  }

  const Json* json_;
  std::string place_;
};

}  // namespace fheres::report
