#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fheres/workload/place.hpp>
#include <fheres/workload/value.hpp>

namespace fheres::workload {

/// Collects what is wrong.
class Problems {
 public:
  void add(const char* code, const Place& place, std::string message, std::string hint = {}) {
    if (list_.size() < kMost) list_.push_back({code, place, std::move(message), std::move(hint)});
  }
  /// Whether a problem more is one that nobody reads: then a hint is not worth its time.
  bool many() const { return list_.size() >= kMany; }
  bool empty() const { return list_.empty(); }
  std::size_t size() const { return list_.size(); }
  std::vector<Problem> take() { return std::move(list_); }

 private:
  static constexpr std::size_t kMany = 200;
  static constexpr std::size_t kMost = 20'000;  // what a hostile document can make us keep
  std::vector<Problem> list_;
};

/// What a name means: a managed value (declared, or the output of a stage), or a result inside a stage's body, or both.
struct Definition {
  Place place;
  std::optional<ValueIndex> value;
  std::optional<std::size_t> stage;      // of a result or output
  std::optional<std::size_t> operation;  // of a result
};

/// The one name space of a document's values and results.
class Names {
 public:
  /// False, and a problem, when the name is taken.
  bool define(const Name& name, const Definition& definition, Problems& problems);
  /// Without a problem: nothing when there is no such name.
  const Definition* look_up(const std::string& name) const;
  /// Reports an unknown name, with the closest known one.
  const Definition* find(const Name& name, Problems& problems) const;
  Definition& at(const std::string& name) { return definitions_.at(name); }

 private:
  std::map<std::string, Definition> definitions_;
  mutable std::uint64_t compared_ = 0;  // names that suggestions looked at
};

/// Reports repeated names of stages, requests, ...; `what` is the noun.
void check_unique(const std::vector<Name>& names, const char* what, Problems& problems);

std::string at_line(const Place& place);  // ` at line 12`, or nothing

}  // namespace fheres::workload
