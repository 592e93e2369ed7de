#include <set>

#include <doctest/doctest.h>

#include <fheres/documents/diagnostic.hpp>

using namespace fheres::documents;
using fheres::workload::Place;

TEST_CASE("a diagnostic shows the line, a caret under the place, and what could help") {
  const Sources sources{{"a.yaml", "one\n  two: three\n"}};
  const Diagnostic diagnostic{"FHR0103", Place{"a.yaml", 2, 8, 5}, "something is wrong",
                              "did you mean `tree`?"};
  CHECK(render(diagnostic, sources) ==
        "a.yaml:2:8: error: something is wrong [FHR0103]\n"
        "   2 |   two: three\n"
        "     |        ^~~~~\n"
        "     = did you mean `tree`?\n");
}

TEST_CASE("the caret counts characters and not bytes, and stays inside the line") {
  const Sources sources{{"a.yaml", "äöü: x"}};
  CHECK(render({"FHR0103", Place{"a.yaml", 1, 6, 99}, "m", ""}, sources) ==
        "a.yaml:1:6: error: m [FHR0103]\n"
        "   1 | äöü: x\n"
        "     |      ^~\n");
}

TEST_CASE("of a long line only the part around the place is shown") {
  const Sources sources{{"a.yaml", std::string(100000, 'a') + "b" + std::string(100000, 'c')}};
  const std::string text = render({"FHR0103", Place{"a.yaml", 1, 100001, 1}, "m", ""}, sources);
  CHECK(text.size() < 600);
  CHECK(text.find("abc") != std::string::npos);
  const auto line = text.find('|') + 1, caret = text.rfind('|') + 1;
  CHECK(text.find('b', line) - line == text.find('^', caret) - caret);
}

TEST_CASE("a place without a line, or a file that nobody has, is named and not shown") {
  CHECK(render({"FHR0001", Place{"gone.yaml", 0, 0, 0}, "there is no such file", ""}, {}) ==
        "gone.yaml: error: there is no such file [FHR0001]\n");
  CHECK(render({"FHR0103", Place{"gone.yaml", 3, 1, 1}, "m", ""}, {}) ==
        "gone.yaml:3:1: error: m [FHR0103]\n");
}

TEST_CASE("colour is only there when asked for") {
  const Diagnostic diagnostic{"FHR0103", Place{"a", 1, 1, 1}, "m", "h"};
  CHECK(render(diagnostic, {{"a", "x"}}).find('\x1b') == std::string::npos);
  CHECK(render(diagnostic, {{"a", "x"}}, true).find("\x1b[1;31m") != std::string::npos);
}

TEST_CASE("codes are distinct, ascending and each has a meaning") {
  std::string previous;
  for (const Code& code : codes()) {
    CHECK(std::string(code.code) > previous);
    CHECK(code.code.size() == 7);
    CHECK(code.meaning.size() > 10);
    CHECK(meaning(code.code) == code.meaning);
    previous = code.code;
  }
  CHECK(meaning("FHR9999").empty());
}

TEST_CASE("diagnostics come in the order of their places, each once") {
  std::vector<Diagnostic> list{{"FHR0104", {"a", 2, 1, 1}, "m", ""},
                               {"FHR0103", {"a", 1, 9, 1}, "m", ""},
                               {"FHR0103", {"a", 1, 2, 1}, "m", ""},
                               {"FHR0104", {"a", 2, 1, 1}, "m", ""}};
  sort_by_place(list);
  REQUIRE(list.size() == 3);
  CHECK(list[0].place.column == 2);
  CHECK(list[1].place.column == 9);
  CHECK(list[2].place.line == 2);
}
