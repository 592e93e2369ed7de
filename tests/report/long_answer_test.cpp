#include <random>

#include <doctest/doctest.h>

#include <fheres/base/error.hpp>
#include <fheres/report/long_answer.hpp>

#include "support/folder.hpp"

using namespace fheres;
using report::Json;
using report::LongAnswer;

namespace {

/// With everything in it that a layout could trip over.
Json random_item(std::mt19937_64& draw, int depth) {
  switch (draw() % (depth == 0 ? 3 : 5)) {
    case 0:
      return draw() % 1000;
    case 1:
      return std::string("a \"text\"\n  with [lines],\n\\ and \xff");
    case 2:
      return nullptr;
    case 3: {
      Json list = Json::array();
      for (std::uint64_t i = draw() % 4; i > 0; --i) list.push_back(random_item(draw, depth - 1));
      return list;
    }
    default: {
      Json object = Json::object();
      for (std::uint64_t i = draw() % 4; i > 0; --i)
        object["key\n" + std::to_string(i)] = random_item(draw, depth - 1);
      return object;
    }
  }
}

std::string text_of(const LongAnswer& answer) {
  std::string text;
  report::render(answer, [&text](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace

TEST_CASE("an answer in pieces has the text of the whole object") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 draw(seed);
    LongAnswer answer;
    answer.head = {{"stages", Json::array()},
                   {"between", random_item(draw, 3)},
                   {"observed", {{"lives", Json::array()}, {"other", random_item(draw, 2)}}},
                   {"last", random_item(draw, 3)}};
    Json whole = answer.head;
    for (const char* place : {"/observed/lives", "/stages"}) {
      std::vector<Json> items(draw() % 3 == 0 ? 0 : draw() % 2000);
      for (Json& item : items) item = random_item(draw, 3);
      whole[Json::json_pointer(place)] = items;
      answer.lists.push_back({place, items.size(), [items](std::size_t i) { return items[i]; }});
    }
    const std::string expected = report::render(whole);
    CHECK(text_of(answer) == expected);
    const test::Folder folder;
    report::write_file(folder.path / "answer.json", answer);
    CHECK(folder.read("answer.json") == expected);
  }
}

TEST_CASE("an answer that fails on its way leaves the file that was there, and no other") {
  const test::Folder folder;
  const auto path = folder.write("answer.json", "before");
  LongAnswer answer;
  answer.head = {{"stages", Json::array()}};
  answer.lists = {{"/stages", 100'000, [](std::size_t i) -> Json {
                     if (i == 99'999) throw Error("test/late", "too late");
                     return "an item of some length";
                   }}};
  CHECK_THROWS_AS(report::write_file(path, answer), Error);
  CHECK(folder.read("answer.json") == "before");
  CHECK(folder.count() == 1);
}
