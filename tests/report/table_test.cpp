#include <doctest/doctest.h>

#include <fheres/report/table.hpp>

using fheres::report::Table;

TEST_CASE("a table pads columns to their widest cell and leaves no trailing spaces") {
  Table table({{"name"}, {"bytes", Table::Align::right}, {"note"}});
  table.add({"x", "2 MiB", ""});
  table.add({"rotation", "18 MiB", "µ"});
  CHECK(table.render(1) ==
        " name       bytes  note\n"
        " x          2 MiB\n"
        " rotation  18 MiB  µ\n");
}

TEST_CASE("a duration has three digits and the unit that people would use") {
  using fheres::report::format_duration;
  CHECK(format_duration(0) == "0 ns");
  CHECK(format_duration(12) == "12 ns");
  CHECK(format_duration(3400) == "3.4 µs");
  CHECK(format_duration(18'000'000) == "18 ms");
  CHECK(format_duration(99'960'000) == "100 ms");
  CHECK(format_duration(1'250'000'000) == "1.25 s");
}
