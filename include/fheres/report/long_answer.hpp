#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fheres/report/json.hpp>

namespace fheres::report {

/// An answer or a report as one JSON object, of which long lists are made item by item: of 10,000 stages they are a hundred
/// megabytes of text. It looks into what it was made of, which has to stay.
struct LongAnswer {
  struct List {
    std::string place;  // its JSON pointer, of keys only: `/stages`, `/observed/lives`
    std::size_t count = 0;
    std::function<Json(std::size_t)> item;
  };
  Json head;  // the whole object, with those lists empty
  std::vector<List> lists;
};

/// Gives the text that render() would give of the whole, in pieces.
void render(const LongAnswer& answer, const std::function<void(std::string_view)>& sink);

/// Writes it whole or not at all (OutputFile), with no more than an item of it in memory. FileError, as write_file.
void write_file(const std::filesystem::path& path, const LongAnswer& answer);

}  // namespace fheres::report
