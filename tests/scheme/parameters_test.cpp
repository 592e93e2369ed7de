#include <cmath>
#include <set>

#include <doctest/doctest.h>

#include <fheres/scheme/parameters.hpp>
#include <fheres/scheme/presets.hpp>
#include <fheres/scheme/primes.hpp>
#include <fheres/scheme/security.hpp>
#include <fheres/scheme/sizes.hpp>

using namespace fheres;
using namespace fheres::scheme;

namespace {

ParametersLiteral small() { return *find_preset("test-slots512-scale40-levels4"); }

std::string refusal(const ParametersLiteral& literal) {
  try {
    Parameters::make(literal);
  } catch (const ParameterError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every preset is valid, with distinct primes that are 1 modulo 2N") {
  for (const Preset& preset : presets()) {
    CAPTURE(preset.name);
    const Parameters parameters = Parameters::make(preset.literal);
    CHECK(parameters.name() == preset.name);
    std::set<std::uint64_t> primes;
    for (int i = 0; i < parameters.prime_count(); ++i) {
      const std::uint64_t prime = parameters.prime(i).value;
      CHECK(prime % (2 * parameters.n()) == 1);
      CHECK(primes.insert(prime).second);
      if (preset.literal.log_n <= 14) CHECK(is_prime(prime));
    }
    const bool test = preset.name.starts_with("test-");
    CHECK(test == (parameters.security() == SecurityTable::none));
    CHECK(test != parameters.security_bound().has_value());
    for (int level = 0; level <= parameters.max_level(); ++level) {
      CHECK(std::abs(parameters.canonical_scale(level).log2() - parameters.scale_bits()) < 0.5);
    }
    CHECK(parameters.key_switch_deviation(0) < 16 * parameters.fresh_deviation());
  }
}

TEST_CASE("the preset of the samples has the bytes and digits that the design computes") {
  const Parameters f = Parameters::make(*find_preset("slots8192-scale40-levels7"));
  CHECK(f.n() == 16384);
  CHECK(f.slots() == 8192);
  CHECK(f.digit_limbs() == 1);
  CHECK(f.digits(0) == 8);
  CHECK(key_switch_workspace(f, 0, 0) == 74 * 128 * kKiB);
  CHECK(key_switch_workspace(f, 0, 2) == (8 + 8 * 2 + 2) * 128 * kKiB);
  CHECK(key_switch_workspace(f, 0, 8) == key_switch_workspace(f, 0, 0));
  CHECK(rescale_workspace(f, 2) == 256 * kKiB);
  CHECK(context_bytes(f) == 4 * 9 * 128 * kKiB);
  const Parameters big = Parameters::make(*find_preset("slots32768-scale40-levels34"));
  CHECK(big.digit_limbs() == 5);
  CHECK(big.digits(0) == 7);
}

TEST_CASE("special primes come first from 2^60 down, then the base prime") {
  const Parameters f = Parameters::make(*find_preset("slots16384-scale40-levels16"));
  const std::uint64_t step = 2 * f.n();
  const std::uint64_t first = *previous_prime(std::uint64_t{1} << 60, step, 3);
  const std::uint64_t second = *previous_prime(first, step, 3);
  CHECK(f.p()[0].value == first);
  CHECK(f.p()[1].value == second);
  CHECK(f.q()[0].value == *previous_prime(second, step, 3));
  CHECK(f.prime(0) == f.q()[0]);
  CHECK(f.prime(f.max_level() + 1) == f.p()[0]);
}

TEST_CASE("each scale prime is the free one nearest to the scale of the level that consumes it") {
  const Parameters f = Parameters::make(*find_preset("slots8192-scale40-levels7"));
  const std::uint64_t step = 2 * f.n();
  std::set<std::uint64_t> taken;
  for (int level = 0; level < f.max_level(); ++level) {
    const std::uint64_t chosen = f.prime(f.limbs(level) - 1).value;
    const long double scale = static_cast<long double>(f.canonical_scale(level).to_double());
    const long double distance = std::abs(static_cast<long double>(chosen) - scale);
    const auto centre = static_cast<std::uint64_t>(scale);
    for (std::uint64_t x = (centre / step - 200) * step + 1; x < centre + 200 * step; x += step) {
      if (std::abs(static_cast<long double>(x) - scale) >= distance || taken.count(x) != 0) continue;
      CHECK_FALSE(is_prime(x));
    }
    taken.insert(chosen);
    const Scale& canonical = f.canonical_scale(level);
    CHECK(f.canonical_scale(level + 1) == canonical.times(canonical).over(chosen));
  }
}

TEST_CASE("the chain is pinned: these primes are in every stored value") {
  const Parameters f = Parameters::make(*find_preset("slots8192-scale40-levels7"));
  CHECK(f.id() == "0273d62723336927");
  CHECK(f.q()[7].value == (std::uint64_t{1} << 40) + 294913);
  CHECK(f.q()[6].value == (std::uint64_t{1} << 40) - 1572863);
  CHECK(Parameters::make(*find_preset("slots8192-scale40-levels7")) == f);
  ParametersLiteral other = *find_preset("slots8192-scale40-levels7");
  other.digit_limbs = 1;
  CHECK(Parameters::make(other).id() == f.id());
  other.q.pop_back();
  CHECK(Parameters::make(other).id() != f.id());
}

TEST_CASE("explicit primes are taken as they are, and bad ones refused") {
  const Parameters found = Parameters::make(small());
  ParametersLiteral given = small();
  for (std::size_t i = 0; i < given.q.size(); ++i) given.q[i].value = found.q()[i].value;
  for (std::size_t i = 0; i < given.p.size(); ++i) given.p[i].value = found.p()[i].value;
  CHECK(Parameters::make(given).id() == found.id());
  ParametersLiteral twice = given;
  twice.p[0].value = given.q[0].value;
  CHECK(refusal(twice).find("is given twice") != std::string::npos);
  ParametersLiteral composite = given;
  composite.q[1].value = *given.q[1].value + 2;
  CHECK(refusal(composite).find("is no prime") != std::string::npos);
  ParametersLiteral wrong_ring = given;
  wrong_ring.q[1].value = (std::uint64_t{1} << 40) - 87;  // prime, and 1 modulo 8 alone
  CHECK(refusal(wrong_ring).find("modulo 2N") != std::string::npos);
}

TEST_CASE("insecure parameters are refused with both figures") {
  ParametersLiteral literal = *find_preset("slots8192-scale40-levels7");
  literal.q.push_back({40, {}});
  try {
    Parameters::make(literal);
    FAIL("expected a refusal");
  } catch (const SecurityError& error) {
    CHECK(error.bound == 430);
    CHECK(error.log_qp == doctest::Approx(440).epsilon(0.001));
    CHECK(std::string(error.what()) ==
          "log2(QP) is 440.0 bits, and guidelines-2024 allows 430 for N = 2^14 at 128-bit security");
  }
  literal.security = SecurityTable::he_standard_2018;
  CHECK(refusal(literal).find("allows 438") != std::string::npos);
  literal.security = SecurityTable::none;
  CHECK(refusal(literal).empty());
}

TEST_CASE("shapes that cannot work are refused with what was expected") {
  ParametersLiteral literal = small();
  literal.log_n = 9;
  CHECK(refusal(literal) == "log_n is 9, expected 10 to 17");
  literal = small();
  literal.p.clear();
  CHECK(refusal(literal).find("at least one special prime") != std::string::npos);
  literal = small();
  literal.q.resize(1);
  CHECK(refusal(literal).find("no level") != std::string::npos);
  literal = small();
  literal.q[0].bits = 41;
  CHECK(refusal(literal).find("the base prime has 41 bits and the scale 40") != std::string::npos);
  literal = small();
  literal.q[1].bits = 61;
  CHECK(refusal(literal).find("61 bits") != std::string::npos);
  literal = small();
  literal.q[2].bits = 55;
  CHECK(refusal(literal).find("the scale leaves its place") != std::string::npos);
  literal = small();
  literal.digit_limbs = 5;
  CHECK(refusal(literal).find("key-switch noise") != std::string::npos);
}

TEST_CASE("a chain longer than the primes near its scale is refused") {
  ParametersLiteral literal;
  literal.log_n = 17;
  literal.scale_bits = 20;
  literal.security = SecurityTable::none;
  literal.q.assign(30, {20, {}});
  literal.q[0].bits = 60;
  literal.p = {{60, {}}};
  CHECK(refusal(literal).find("more primes near 2^20 than exist") != std::string::npos);
}

TEST_CASE("the security tables are those of the design, and end where they end") {
  const int guidelines[] = {26, 53, 106, 214, 430, 868, 1747, 3523};
  const int standard[] = {27, 54, 109, 218, 438, 881, 1747, 3523};
  for (int i = 0; i < 8; ++i) {
    CHECK(max_log_qp(SecurityTable::guidelines_2024, 10 + i) == guidelines[i]);
    CHECK(max_log_qp(SecurityTable::he_standard_2018, 10 + i) == standard[i]);
  }
  CHECK_FALSE(max_log_qp(SecurityTable::guidelines_2024, 18));
  CHECK_FALSE(max_log_qp(SecurityTable::none, 14));
}
