// From pinned memory to a usable key on a CUDA device: the whole key copied, against its seeded half copied and
// expanded there. See README.md.
#include <cstdio>
#include <cstring>
#include <exception>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <fheres/ckks/expansion.hpp>
#include <fheres/memory/cuda.hpp>
#include <fheres/ring/cuda.hpp>
#include <fheres/scheme/presets.hpp>

#include "timing.hpp"

namespace fheres::bench {
namespace {

using memory::Location;

/// Storage that goes with the object.
class Storage {
 public:
  Storage(memory::Driver& driver, Location at, Bytes bytes)
      : driver_(driver), at_(at), bytes_(bytes), data_(driver.allocate(at, bytes)) {}
  ~Storage() { driver_.deallocate(at_, data_, bytes_); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::span<std::byte> span() const { return {data_, bytes_}; }
  memory::Extent extent() const { return {at_, data_, bytes_}; }

 private:
  memory::Driver& driver_;
  Location at_;
  Bytes bytes_;
  std::byte* data_;
};

void run(const std::string& preset, memory::Driver& driver, std::shared_ptr<memory::Driver> shared) {
  const auto literal = scheme::find_preset(preset);
  if (!literal) throw std::invalid_argument("no preset " + preset);
  const scheme::Parameters parameters = scheme::Parameters::make(*literal);
  const Location device = Location::cuda(0);
  const memory::Stream stream = driver.make_stream(device, "bench");
  const ckks::Context host = ckks::Context::on_host(parameters);
  const ckks::Context on_device(
      parameters, ring::make_cuda_backend(host.backend().shared_basis(), std::move(shared), device));
  const scheme::ValueType full = scheme::rotation_key_type(parameters, 1, 0);
  const scheme::ValueType seeded = scheme::seeded_form(full);
  const Bytes whole_bytes = scheme::bytes_of(parameters, full);
  const Bytes half_bytes = scheme::bytes_of(parameters, seeded);

  const Storage whole(driver, Location::pinned_host(), whole_bytes);
  const Storage half(driver, Location::pinned_host(), half_bytes);
  const Storage half_there(driver, device, half_bytes);
  const Storage whole_there(driver, device, whole_bytes);
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i + 8 <= half_bytes; i += 8) {
    const std::uint64_t word = random() >> 30;  // below every prime
    std::memcpy(half.span().data() + i, &word, 8);
  }
  // What is timed is right: the device's key is the host's.
  ckks::expand(host, ckks::KeyView(parameters, seeded, half.span()), {parameters, full, whole.span()}, {});
  const auto expand_half = [&](int) {
    driver.copy(stream, half_there.extent(), half.extent());
    ckks::expand(on_device, ckks::KeyView(parameters, seeded, half_there.span()),
                 {parameters, full, whole_there.span()}, stream);
  };
  expand_half(0);
  std::vector<std::byte> back(whole_bytes);
  driver.copy(stream, {Location::pageable_host(), back.data(), back.size()}, whole_there.extent());
  driver.synchronize(stream);
  if (std::memcmp(back.data(), whole.span().data(), back.size()) != 0) {
    throw std::runtime_error(preset + ": the device's key differs from the host's");
  }

  const auto times = [&](const Work& work) { return measure_single(driver, stream, 1, 20, work); };
  const Times copied = times([&](int) { driver.copy(stream, whole_there.extent(), whole.extent()); });
  const Times expanded = times(expand_half);
  const Times alone = times([&](int) {
    ckks::expand(on_device, ckks::KeyView(parameters, seeded, half_there.span()),
                 {parameters, full, whole_there.span()}, stream);
  });
  const auto cell = [](const Times& t) { return fmt::format("{:.1f} ({:.1f})", t.median, t.minimum); };
  fmt::print("{:<34} {:>9.1f} {:>20} {:>20} {:>20} {:>7.2f}\n", preset,
             1e-6 * static_cast<double>(whole_bytes), cell(copied), cell(expanded), cell(alone),
             expanded.median / copied.median);
}

}  // namespace
}  // namespace fheres::bench

int main(int argc, char** argv) {
  using namespace fheres;
  try {
    std::vector<std::string> presets(argv + 1, argv + argc);
    if (presets.empty()) presets = {"slots8192-scale40-levels7", "slots32768-scale40-levels34"};
    const auto driver = memory::make_cuda_driver();
    fmt::print("{}: from pinned memory to a usable rotation key, median (minimum) in us\n",
               driver->describe(memory::Location::cuda(0)));
    fmt::print("{:<34} {:>9} {:>20} {:>20} {:>20} {:>7}\n", "preset", "key MB", "whole, copied",
               "half, expanded", "expansion alone", "ratio");
    for (const std::string& preset : presets) bench::run(preset, *driver, driver);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_seeded_keys: %s\n", error.what());
    return 1;
  }
}
