#include <algorithm>

#include <doctest/doctest.h>

#include <fheres/scheme/advice.hpp>
#include <fheres/scheme/presets.hpp>

using namespace fheres;
using namespace fheres::scheme;

TEST_CASE("advice keeps the depth and the scale, and names what is there among secure choices by key size") {
  for (const char* name :
       {"slots8192-scale40-levels7", "slots16384-scale30-levels21", "slots8192-scale50-levels5"}) {
    CAPTURE(name);
    const ParametersLiteral literal = *find_preset(name);
    const std::vector<Choice> choices = advise(literal);
    CHECK(std::count_if(choices.begin(), choices.end(), [](const Choice& choice) { return choice.given; }) ==
          1);
    CHECK(choices.size() > 1);
    for (const Choice& choice : choices) {
      CHECK(choice.parameters.max_level() == static_cast<int>(literal.q.size()) - 1);
      CHECK(choice.parameters.scale_bits() == literal.scale_bits);
      CHECK(choice.parameters.log_qp() <= *choice.parameters.security_bound());
      CHECK(choice.seeded_key == choice.key / 2 + 32);
      CHECK(choice.cost.floor_us() > 0);
    }
    CHECK(std::is_sorted(choices.begin(), choices.end(),
                         [](const Choice& a, const Choice& b) { return a.key < b.key; }));
  }
}

TEST_CASE("small primes make every transform fast where the scale allows it") {
  const auto fast = [](const Choice& choice) {
    return choice.cost.fast_transforms == choice.cost.transforms;
  };
  const std::vector<Choice> narrow = advise(*find_preset("slots8192-scale40-levels7"));
  CHECK(std::any_of(narrow.begin(), narrow.end(), fast));
  const std::vector<Choice> wide = advise(*find_preset("slots8192-scale50-levels5"));
  CHECK(std::none_of(wide.begin(), wide.end(), fast));
}

TEST_CASE("fast presets have the depth of their namesakes, and only primes of the fast pipe") {
  int count = 0;
  for (const Preset& preset : presets()) {
    if (!preset.name.ends_with("-fast")) continue;
    CAPTURE(preset.name);
    const auto namesake = find_preset(preset.name.substr(0, preset.name.size() - 5));
    REQUIRE(namesake);
    CHECK(preset.literal.q.size() == namesake->q.size());
    CHECK(preset.literal.scale_bits == namesake->scale_bits);
    ++count;
    if (preset.literal.log_n > 15) continue;  // their primes take a while to find
    const Parameters parameters = Parameters::make(preset.literal);
    for (int i = 0; i < parameters.prime_count(); ++i) CHECK(parameters.prime(i).bits() <= kFastPrimeBits);
    const SwitchCost slow = switch_cost(Parameters::make(*namesake));
    CHECK(switch_cost(parameters).compute_us < slow.compute_us);
  }
  CHECK(count == 8);
}

TEST_CASE("a key switch has the transforms that its digits and limbs ask for") {
  // Eight Q limbs, one special, eight digits: 8 back, 9 * 8 - 8 forward, 2 back, 16 forward.
  const SwitchCost cost = switch_cost(Parameters::make(*find_preset("slots8192-scale40-levels7")));
  CHECK(cost.transforms == 8 + 64 + 2 + 16);
}
