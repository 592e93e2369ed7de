#include <cmath>
#include <cstring>
#include <random>

#include <doctest/doctest.h>

#include <fheres/workload/number_file.hpp>

#include "support/folder.hpp"

using namespace fheres;
using namespace fheres::workload;

namespace {

template <class Number>
std::string raw(const std::vector<Number>& numbers) {
  std::string bytes(numbers.size() * sizeof(Number), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

std::string npy(const std::string& header, const std::string& data, char major = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += major;
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  if (major > 1) bytes += std::string(2, '\0');
  return bytes + header + data;
}

std::string header(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }   \n";
}

std::string message_of(const std::filesystem::path& path, std::uint64_t limit = 8) {
  try {
    read_numbers(path, limit);
  } catch (const FileError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("numbers come out of each kind of file as they went in") {
  const fheres::test::Folder folder;
  const std::vector<double> doubles{0.1, -2.5, 1e-300, 3};
  const std::vector<float> floats{0.25F, -7.5F, 1e-30F};
  CHECK(read_numbers(folder.write("a.npy", npy(header("<f8", "4,"), raw(doubles))), 4) == doubles);
  CHECK(read_numbers(folder.write("b.npy", npy(header("<f8", "4"), raw(doubles), 2)), 4) == doubles);
  CHECK(read_numbers(folder.write("c.npy", npy(header("<f4", "3,"), raw(floats))), 4) ==
        std::vector<double>{0.25, -7.5, static_cast<double>(1e-30F)});
  CHECK(read_numbers(folder.write("d.npy", npy(header("<c16", "2,"), raw<double>({0.5, 0, -1, 0}))), 4) ==
        std::vector<double>{0.5, -1});
  CHECK(read_numbers(folder.write("e.f64", raw(doubles)), 4) == doubles);
  CHECK(read_numbers(folder.write("f.csv", "# two columns\n0.1, -2.5\r\n+1e-300;3 # the end"), 4) == doubles);
}

TEST_CASE("hostile number files are refused with their figures") {
  const fheres::test::Folder folder;
  const auto refused = [&](const std::string& name, const std::string& bytes, const std::string& why) {
    const std::string message = message_of(folder.write(name, bytes));
    CAPTURE(message);
    CHECK(message.find(why) != message.npos);
    CHECK(message.find('\n') == message.npos);
    CHECK(message.find(name) != message.npos);
  };
  refused("a.txt", "1", "its extension is none of");
  refused("a.npy", "", "does not begin");
  refused("a.npy", "\x93NUMPY\x01", "does not begin");
  refused("a.npy", npy("", "", 9), "version 9");
  refused("a.npy", std::string("\x93NUMPY\x01\0\xff\xff", 10), "65535 bytes, and 0 are there");
  refused("a.npy", std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12), "4294967295 bytes, and 0");
  refused("a.npy", std::string("\x93NUMPY\x02\0\xff\xff", 10), "ends inside its header");
  refused("a.npy", npy("{}", ""), "no `descr`");
  refused("a.npy", npy("{'descr': [('a', '<f8')], 'shape': (1,)}", raw<double>({1})),
          "`descr` of its header");
  refused("a.npy", npy(header(">f8", "1,"), raw<double>({1})), "`>f8`, expected <f8, <f4 or <c16");
  refused("a.npy", npy(header("|O", "1,"), raw<double>({1})), "`|O`");
  refused("a.npy", npy(header("<f8", "2, 2"), raw<double>({1, 2, 3, 4})), "(2, 2), expected one dimension");
  refused("a.npy", npy(header("<f8", ""), raw<double>({1})), "(), expected one dimension");
  refused("a.npy", npy("{'descr': '<f8', 'shape': 5", ""), "its shape is none");
  refused("a.npy", npy(header("<f8", "2,"), raw<double>({1})),
          "2 numbers of 8 bytes are announced, and 8 bytes");
  refused("a.npy", npy(header("<f8", "9,"), raw<double>(std::vector<double>(9))),
          "9 numbers, expected at most 8");
  refused("a.npy", npy(header("<f8", "18446744073709551615,"), ""), "expected at most 8");
  refused("a.npy", npy(header("<f8", "99999999999999999999,"), ""), "expected one dimension");
  refused("a.npy", npy(header("<c16", "1,"), raw<double>({1, 2})), "imaginary part 2");
  refused("a.npy", npy(header("<f8", "2,"), raw<double>({1, std::nan("")})), "number 1 is nan");
  refused("a.npy", npy(header("<f8", "0,"), ""), "no numbers");
  refused("a.f64", "1234567", "7 bytes");
  refused("a.f64", std::string(72, '\0'), "72 bytes, and 8 numbers take at most 64");
  refused("a.f64", raw<double>({INFINITY}), "number 0 is inf");
  refused("a.csv", "1\n2 3\n4, x\x01y", "line 3: `x?y` is no number");
  refused("a.csv", "1e999", "is no number");
  refused("a.csv", "nan", "number 0 is nan");
  refused("a.csv", "# nothing", "no numbers");
  refused("a.csv", "1 2 3 4 5 6 7 8 9", "more than 8 numbers");
  refused("a.csv", std::string(513, ' '), "513 bytes");
  std::filesystem::create_directory(folder.path / "folder.csv");
  CHECK(message_of(folder.path / "folder.csv").ends_with("it is no regular file"));
  CHECK(message_of(folder.path / "gone.csv").ends_with("there is no such file"));
}

TEST_CASE("number files with random damage give numbers or a refusal") {
  const std::uint64_t seed = 5;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const fheres::test::Folder folder;
  const std::string good = npy(header("<f8", "4,"), raw<double>({0.1, -2.5, 1e-300, 3}));
  for (int round = 0; round < 500; ++round) {
    std::string bytes = good;
    for (std::uint64_t i = 0; i <= random() % 3; ++i) {
      const std::size_t at = random() % bytes.size();
      if (random() % 4 == 0) {
        bytes.erase(at, 1 + random() % 8);
      } else {
        bytes[at] = static_cast<char>(random());
      }
      if (bytes.empty()) bytes = "x";
    }
    const auto path = folder.write("a.npy", bytes);
    try {
      const auto numbers = read_numbers(path, 4);
      CHECK(numbers.size() <= 4);
    } catch (const FileError&) {
      // refused
    }
  }
}
