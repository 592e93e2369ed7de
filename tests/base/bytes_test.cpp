#include <limits>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include <fheres/base/bytes.hpp>

using namespace fheres;

namespace {

Bytes value(std::string_view text) {
  const auto parsed = parse_bytes(text);
  if (const auto* bad = std::get_if<BadBytes>(&parsed)) FAIL(bad->reason);
  return std::get<Bytes>(parsed);
}
std::string refusal(std::string_view text) {
  const auto parsed = parse_bytes(text);
  const auto* bad = std::get_if<BadBytes>(&parsed);
  return bad != nullptr ? bad->reason : "accepted " + std::string(text);
}
bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("sizes are read with decimal and binary units, which are different things") {
  CHECK(value("0") == 0);
  CHECK(value("123") == 123);
  CHECK(value("123 B") == 123);
  CHECK(value("64 KiB") == 65'536);
  CHECK(value("64KiB") == 65'536);
  CHECK(value("64 kB") == 64'000);
  CHECK(value("64 KB") == 64'000);
  CHECK(value("2GB") == 2'000'000'000);
  CHECK(value("2GiB") == 2 * kGiB);
  CHECK(value("1 TB") == 1'000'000'000'000);
  CHECK(value("1 TiB") == kGiB * 1024);
  CHECK(value("1.5 GiB") == kGiB + kGiB / 2);
  CHECK(value("0.25 kB") == 250);
  CHECK(value("001.50 KiB") == 1'536);
}

TEST_CASE("the largest size is one below 2^63") {
  CHECK(value("9223372036854775807") == (Bytes{1} << 63) - 1);
  CHECK(mentions(refusal("9223372036854775808"), "2^63"));
  CHECK(mentions(refusal("8388608 TiB"), "2^63"));
  CHECK(value("8388607 TiB") == Bytes{8'388'607} << 40);
  CHECK(mentions(refusal("99999999999999999999 TiB"), "2^63"));
  CHECK(mentions(refusal("999999999999999999999"), "20 digits"));
}

TEST_CASE("a text that is not a size is refused with its reason") {
  CHECK(mentions(refusal(""), "empty"));
  CHECK(mentions(refusal("-1 MiB"), "negative"));
  CHECK(mentions(refusal("+1"), "expected a number"));
  CHECK(mentions(refusal("MiB"), "expected a number"));
  CHECK(mentions(refusal("."), "expected a number"));
  CHECK(mentions(refusal("1.5"), "needs a unit"));
  CHECK(mentions(refusal("24G"), "did you mean GB or GiB?"));
  CHECK(mentions(refusal("24 mib"), "did you mean MiB?"));
  CHECK(mentions(refusal("24 k"), "did you mean kB or KiB?"));
  CHECK(mentions(refusal("24 gigs"), "expected B, kB"));
  CHECK(mentions(refusal("1. KiB"), "digit is missing"));
  CHECK(mentions(refusal(".5 KiB"), "digit is missing"));
  CHECK(mentions(refusal("1.0001 KiB"), "whole number"));
  CHECK(mentions(refusal("0.5 B"), "whole number"));
  for (const char* text : {"1 mib", "1 Mb", "1  MiB", "1 MiB ", " 1 MiB", "1 MiBs", "1e3", "0x10", "1,5 MiB",
                           "1.2.3 MiB", "1 Ki", "1_000", "1\tMiB", "12 34"}) {
    CAPTURE(text);
    CHECK(std::holds_alternative<BadBytes>(parse_bytes(text)));
    CHECK(mentions(refusal(text), text));
  }
}

TEST_CASE("sizes are written in the largest unit that keeps them at one or more") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(512) == "512 B");
  CHECK(format_bytes(1'023) == "1023 B");
  CHECK(format_bytes(1'024) == "1 KiB");
  CHECK(format_bytes(1'536) == "1.5 KiB");
  CHECK(format_bytes(37 * kMiB) == "37 MiB");
  CHECK(format_bytes(kGiB + kGiB / 10 * 6) == "1.6 GiB");
  CHECK(format_bytes(Bytes{3} << 40) == "3 TiB");
  CHECK(format_bytes(std::numeric_limits<Bytes>::max()) == "16777216 TiB");
  CHECK(format_exact_bytes(512) == "512 B");
  CHECK(format_exact_bytes(37 * kMiB) == "38797312 B (37 MiB)");
}

TEST_CASE("whole binary sizes survive being written and read again") {
  for (int shift = 0; shift < 63; ++shift) {
    for (const Bytes factor : {Bytes{1}, Bytes{3}}) {
      const Bytes bytes = factor << shift;
      if (bytes >= (Bytes{1} << 63) || bytes >> shift != factor) continue;
      CHECK(value(format_bytes(bytes)) == bytes);
    }
  }
}

TEST_CASE("granules round up, and sums and products of bytes never wrap") {
  const Bytes max = std::numeric_limits<Bytes>::max();
  CHECK(round_up_to_granule(0) == 0);
  CHECK(round_up_to_granule(1) == 256);
  CHECK(round_up_to_granule(256) == 256);
  CHECK(round_up_to_granule(257) == 512);
  CHECK(round_up_to_granule(max - 255) == max - 255);
  CHECK_THROWS_AS(round_up_to_granule(max - 254), std::overflow_error);
  CHECK(checked_add(max, 0) == max);
  CHECK_THROWS_AS(checked_add(max, 1), std::overflow_error);
  CHECK(checked_multiply(0, max) == 0);
  CHECK(checked_multiply(max, 0) == 0);
  CHECK(checked_multiply(Bytes{1} << 32, (Bytes{1} << 32) - 1) == 0xFFFFFFFF00000000u);
  CHECK_THROWS_AS(checked_multiply(Bytes{1} << 32, Bytes{1} << 32), std::overflow_error);
}
