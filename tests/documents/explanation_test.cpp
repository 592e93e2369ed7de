#include <algorithm>
#include <sstream>

#include <doctest/doctest.h>

#include <fheres/documents/diagnostic.hpp>
#include <fheres/documents/explanation.hpp>
#include <fheres/documents/load.hpp>

using namespace fheres::documents;

TEST_CASE("every code has an explanation with a cure, and no other text does") {
  const auto all = explanations();
  REQUIRE(all.size() == codes().size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].code == codes()[i].code);
    CHECK(all[i].why.size() > 20);
    CHECK(all[i].cure.size() > 10);
    CHECK(explanation(all[i].code) == &all[i]);
  }
  CHECK(explanation("FHR9999") == nullptr);
}

TEST_CASE("the example of an explanation is reported with its code") {
  int examples = 0;
  for (const Explanation& item : explanations()) {
    if (item.example.empty()) continue;
    ++examples;
    const Loaded loaded = load_text(whole_document(item), "example.yaml", "samples");
    std::string found;
    for (const Diagnostic& d : loaded.diagnostics) found += render(d, loaded.sources);
    CAPTURE(item.code);
    CAPTURE(found);
    CHECK(std::any_of(loaded.diagnostics.begin(), loaded.diagnostics.end(),
                      [&](const Diagnostic& d) { return d.code == item.code; }));
  }
  CHECK(examples > 45);
}

TEST_CASE("explanations fit in 100 columns") {
  for (const Explanation& item : explanations()) {
    std::istringstream text(render(item));
    for (std::string line; std::getline(text, line);) {
      CAPTURE(line);
      CHECK(line.size() <= 100);
    }
  }
}
