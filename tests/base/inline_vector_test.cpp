#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <fheres/base/inline_vector.hpp>

using namespace fheres;

namespace {

struct Item {
  std::uint64_t number = 7;
  std::uint16_t small = 3;
  friend bool operator==(const Item&, const Item&) = default;
};

using Few = InlineVector<Item, 2>;

bool same(const Few& few, const std::vector<Item>& reference) {
  return few.size() == reference.size() && few.empty() == reference.empty() &&
         std::equal(few.begin(), few.end(), reference.begin());
}

}  // namespace

TEST_CASE(
    "an inline vector holds what a vector holds, through random insertions, erasures, copies and moves") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 dice(seed);
    Few few, other;
    std::vector<Item> reference, other_reference;
    for (int step = 0; step < 60; ++step) {
      CAPTURE(step);
      const Item item{dice(), static_cast<std::uint16_t>(dice())};
      const auto at = static_cast<std::ptrdiff_t>(dice() % (reference.size() + 1));
      switch (dice() % 9) {
        case 0:
        case 1:
          few.push_back(item);
          reference.push_back(item);
          break;
        case 2:
        case 3:
          CHECK(*few.insert(few.begin() + at, item) == item);
          reference.insert(reference.begin() + at, item);
          break;
        case 4:
        case 5:
          if (at == static_cast<std::ptrdiff_t>(reference.size())) break;
          few.erase(few.begin() + at);
          reference.erase(reference.begin() + at);
          break;
        case 6:
          other = few;
          other_reference = reference;
          break;
        case 7:
          few = std::move(other);
          reference = std::move(other_reference);
          other = Few{};
          other_reference.clear();
          break;
        default: {
          if (reference.empty()) break;
          few.push_back(few.front());  // out of itself, also where it grows
          reference.push_back(Item(reference.front()));
          const Few moved = std::move(few);
          few = moved;
          break;
        }
      }
      CHECK(same(few, reference));
      CHECK(same(other, other_reference));
    }
    const Few copy(few);
    few.clear();
    CHECK(few.empty());
    CHECK(same(copy, reference));
  }
}
