#include <algorithm>
#include <cstring>
#include <ctime>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include <fheres/ckks/serialize.hpp>

#include "support/folder.hpp"
#include "support/random.hpp"

using namespace fheres;
using namespace fheres::test;
using ckks::TensorFile;

namespace {

std::string file_of(const std::string& header, std::size_t payload, std::uint64_t length) {
  std::string text(8, '\0');
  std::memcpy(text.data(), &length, 8);
  return text + header + std::string(payload, 'p');
}
std::string file_of(const std::string& header, std::size_t payload) {
  return file_of(header, payload, header.size());
}

// What opening such a file says; empty where it opens.
std::string refusal(const Folder& folder, const std::string& bytes) {
  const auto path = folder.write("hostile", bytes);
  try {
    const TensorFile file(path);
    return "";
  } catch (const FileError& error) {
    const std::string what = error.what();
    CHECK(what.find("hostile") != what.npos);
    CHECK(what.find('\n') == what.npos);
    CHECK(what.size() < 400);
    return what;
  }
}

std::string tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

std::string one(const std::string& body) { return R"({"a":)" + body + "}"; }

}  // namespace

TEST_CASE("a file of tensors comes back as it was written, its payload at a granule") {
  const Folder folder;
  const std::vector<std::byte> bytes(48, std::byte{7});
  ckks::TensorWriter writer(folder.path / "t",
                            {{.name = "b", .dtype = "U64", .shape = {2, 2}},
                             {.name = "a", .dtype = "U8", .shape = {16}},
                             {.name = "none", .dtype = "F32", .shape = {0, 5}}},
                            {{"format", "test"}, {"text", "quotes \" and\nlines"}});
  writer.write(std::span(bytes).first(40));
  writer.write(std::span(bytes).last(8));
  writer.finish();
  const TensorFile file(folder.path / "t");
  REQUIRE(file.tensors().size() == 3);
  CHECK(file.tensors()[0].name == "b");
  CHECK(file.find("a")->begin == 32);
  CHECK(file.find("a")->end == 48);
  CHECK(file.bytes(*file.find("none")).empty());
  CHECK(file.find("c") == nullptr);
  CHECK(file.metadata("text") == "quotes \" and\nlines");
  CHECK_THROWS_WITH_AS(file.metadata("colour"), doctest::Contains("colour"), FileError);
  CHECK(reinterpret_cast<std::uintptr_t>(file.payload().data()) % kGranule == 0);
  CHECK(std::ranges::equal(file.payload(), bytes));
}

TEST_CASE("a file that others wrote opens as well: no metadata, no padding, any order") {
  const Folder folder;
  const std::string header =
      R"({"b":)" + tensor("F16", "[4]", "[8,16]") + R"(,"a":)" + tensor("I64", "[]", "[0,8]") + "}  ";
  CHECK(refusal(folder, file_of(header, 16)) == "");
  const TensorFile file(folder.path / "hostile");
  CHECK(file.tensors()[0].name == "a");
  CHECK(file.metadata().empty());
}

TEST_CASE("a file that ends anywhere too early is refused") {
  const Folder folder;
  const std::string good = file_of(one(tensor("U8", "[24]", "[0,24]")), 24);
  CHECK(refusal(folder, good) == "");
  for (std::size_t length = 0; length < good.size(); ++length) {
    CAPTURE(length);
    CHECK(refusal(folder, good.substr(0, length)) != "");
  }
  CHECK(refusal(folder, good + "x") != "");
}

TEST_CASE("a header's length beyond the file, or beyond all reason, is refused before anything is read") {
  const Folder folder;
  const std::string header = one(tensor("U8", "[0]", "[0,0]"));
  for (const std::uint64_t length :
       {std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{0} - 7, std::uint64_t{header.size()} + 1}) {
    CHECK(refusal(folder, file_of(header, 0, length)).find("expected at most") != std::string::npos);
  }
  const std::string large = "{" + std::string(17 * 1024 * 1024, ' ') + "}";
  CHECK(refusal(folder, file_of(large, 0)).find("16777216") != std::string::npos);
  CHECK(refusal(folder, file_of("", 0)).find("empty") != std::string::npos);
}

TEST_CASE("offsets that overlap, leave gaps, run backwards or past the end are refused with both figures") {
  const Folder folder;
  const auto two = [](const std::string& a, const std::string& b) {
    return R"({"a":)" + tensor("U8", "[8]", a) + R"(,"b":)" + tensor("U8", "[8]", b) + "}";
  };
  CHECK(refusal(folder, file_of(two("[0,8]", "[8,16]"), 16)) == "");
  for (const auto& [a, b] :
       std::vector<std::pair<std::string, std::string>>{{"[0,8]", "[4,12]"},   // overlap
                                                        {"[0,8]", "[0,8]"},    // the same place
                                                        {"[0,8]", "[9,17]"},   // a gap
                                                        {"[1,9]", "[9,17]"},   // a gap at the start
                                                        {"[0,8]", "[16,8]"},   // backwards
                                                        {"[0,8]", "[8,17]"},   // one more than the shape
                                                        {"[0,8]", "[8,15]"},   // one less
                                                        {"[0,8]", "[24,32]"},  // past the end
                                                        {"[0,8]", "[18446744073709551608,0]"}}) {
    CAPTURE(a);
    CAPTURE(b);
    CHECK(refusal(folder, file_of(two(a, b), 16)) != "");
  }
  CHECK(refusal(folder, file_of(two("[0,8]", "[8,16]"), 17)).find("17") != std::string::npos);
}

TEST_CASE("shapes and dtypes that do not hold are refused, also where their product overflows") {
  const Folder folder;
  const auto refused = [&](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return refusal(folder, file_of(one(tensor(dtype, shape, offsets)), 8));
  };
  CHECK(refused("U64", "[1]", "[0,8]") == "");
  CHECK(refused("U63", "[1]", "[0,8]").find("U63") != std::string::npos);
  CHECK(refused("U32", "[1]", "[0,8]").find("4 bytes") != std::string::npos);
  CHECK(refused("U64", "[2]", "[0,8]") != "");
  // 2^32 * 2^32 elements: their number is 0 modulo 2^64.
  CHECK(refused("U64", "[4294967296,4294967296]", "[0,0]").find("2^63") != std::string::npos);
  CHECK(refused("U64", "[18446744073709551615,2]", "[0,8]").find("2^63") != std::string::npos);
  CHECK(refused("U8", "[9223372036854775809]", "[0,8]").find("2^63") != std::string::npos);
  CHECK(refused("U64", "[1,1,1,1,1,1,1,1,1]", "[0,8]").find("dimensions") != std::string::npos);
  for (const std::string number :
       {"-1", "1.0", "1e3", "18446744073709551616", "1e999", "true", "null", "\"1\"", "[1]", "{}"}) {
    CAPTURE(number);
    CHECK(refused("U64", "[" + number + "]", "[0,8]") != "");
    CHECK(refused("U64", "[1]", "[0," + number + "]") != "");
  }
}

TEST_CASE("a header that is anything else than a header is refused") {
  const Folder folder;
  const std::string good = tensor("U8", "[0]", "[0,0]");
  for (const std::string& header :
       std::vector<std::string>{"[]",
                                "1",
                                "null",
                                "\"a\"",
                                "{",
                                "}",
                                "{\"a\":}",
                                "{\"a\":1}",
                                "{\"a\":[]}",
                                "{} {}",
                                "{}x",
                                std::string("{}\0", 3),
                                "\xff{}",
                                "{\"\xff\":" + good + "}",
                                "{\"a\":{}}",
                                "{\"a\":" + good + ",\"a\":" + good + "}",       // twice
                                "{\"__metadata__\":{},\"__metadata__\":{}}",     //
                                "{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}",  //
                                "{\"__metadata__\":{\"a\":1}}",
                                "{\"__metadata__\":{\"a\":{}}}",
                                "{\"__metadata__\":[]}",
                                R"({"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                                R"({"a":{"dtype":"U8","shape":[0],"shape":[0],"data_offsets":[0,0]}})",
                                R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"colour":1}})",
                                R"({"a":{"dtype":"U8","shape":[0]}})",
                                R"({"a":{"dtype":"U8","data_offsets":[0,0]}})",
                                R"({"a":{"shape":[0],"data_offsets":[0,0]}})",
                                R"({"a":{"dtype":8,"shape":[0],"data_offsets":[0,0]}})",
                                R"({"a":{"dtype":"U8","shape":0,"data_offsets":[0,0]}})",
                                R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0]}})",
                                R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0,0]}})",
                                R"({"a":{"dtype":"U8","shape":[0],"data_offsets":{"a":0}}})"}) {
    CAPTURE(header);
    CHECK(refusal(folder, file_of(header, 0)) != "");
  }
}

TEST_CASE("JSON that is nested a million levels deep is refused like any other, and nothing recurses") {
  const Folder folder;
  for (const std::string open : {"[", "{\"a\":", "{\"__metadata__\":"}) {
    std::string header;
    while (header.size() < 1'000'000) header += open;
    CHECK(refusal(folder, file_of(header, 0)) != "");
  }
  std::string deep = R"({"a":{"dtype":"U8","shape":)";
  deep += std::string(1'000'000, '[') + std::string(1'000'000, ']') + R"(,"data_offsets":[0,0]}})";
  CHECK(refusal(folder, file_of(deep, 0)) != "");
}

TEST_CASE("a header with any bytes changed opens or is refused, and never anything else") {
  const std::uint64_t seed = test_seed(0xf11e);
  INFO("FHERES_TEST_SEED=" << seed);
  Random random(seed);
  const Folder folder;
  const std::string header = R"({"__metadata__":{"format":"x"},"a":)" + tensor("U8", "[2,4]", "[0,8]") +
                             R"(,"b":)" + tensor("U64", "[1]", "[8,16]") + "}";
  const std::string good = file_of(header, 16);
  const std::string alphabet = "0123456789[]{},:\"-.eE \\u\xff";
  int opened = 0;
  for (int round = 0; round < 600; ++round) {
    std::string bytes = good;
    for (std::uint64_t changes = 1 + random.below(3); changes > 0; --changes) {
      const std::size_t at = random.below(bytes.size());
      bytes[at] =
          random.chance(2) ? alphabet[random.below(alphabet.size())] : static_cast<char>(random.bits());
    }
    if (refusal(folder, bytes).empty()) ++opened;
  }
  CHECK(opened > 0);
  CHECK(opened < 600);
}

TEST_CASE("a header of very many tensors is read and searched in no time") {
  const Folder folder;
  std::vector<ckks::Tensor> tensors;
  for (int i = 0; i < 50000; ++i) tensors.push_back({.name = std::to_string(i), .dtype = "U8", .shape = {0}});
  ckks::TensorWriter(folder.path / "many", std::move(tensors), {}).finish();
  const std::clock_t start = std::clock();
  const TensorFile file(folder.path / "many");
  for (int i = 0; i < 50000; ++i)
    if (file.find(std::to_string(i)) == nullptr) FAIL("tensor " << i);
  // Comparing each with each would take minutes; sanitizers are given room.
  CHECK(std::clock() - start < 30 * CLOCKS_PER_SEC);
}

TEST_CASE("a writer that was not given its whole payload leaves no file") {
  const Folder folder;
  {
    ckks::TensorWriter writer(folder.path / "t", {{.name = "a", .dtype = "U8", .shape = {4}}}, {});
    const std::vector<std::byte> bytes(5);
    CHECK_THROWS_AS(writer.write(bytes), std::logic_error);
    writer.write(std::span(bytes).first(3));
    CHECK_THROWS_AS(writer.finish(), std::logic_error);
  }
  CHECK(folder.count() == 0);
  CHECK_THROWS_WITH_AS(
      ckks::TensorWriter(
          folder.path / "t",
          {{.name = "a", .dtype = "U8", .shape = {4}}, {.name = "a", .dtype = "U8", .shape = {4}}}, {}),
      doctest::Contains("named `a`"), FileError);
  CHECK_THROWS_AS(ckks::TensorWriter(folder.path / "t", {{.name = "\xff", .dtype = "U8", .shape = {4}}}, {}),
                  FileError);
  CHECK(folder.count() == 0);
}
