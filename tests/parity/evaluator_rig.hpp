#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include <fheres/ckks/evaluator.hpp>
#include <fheres/memory/cuda.hpp>
#include <fheres/ring/cuda.hpp>

#include "support/allocations.hpp"

namespace fheres::test {

/// A value of one type at the host and on the device: random canonical residues, or poison.
class ValueTwin {
 public:
  ValueTwin(const scheme::Parameters& parameters, const scheme::ValueType& its_type,
            std::shared_ptr<memory::Driver> driver, const memory::Stream& stream)
      : type(its_type), parameters_(parameters), driver_(std::move(driver)), stream_(stream) {
    host.assign(scheme::bytes_of(parameters, type), std::byte{0xa5});
    host_words.resize(host.size() / sizeof(std::uint64_t));
    device = {driver_->allocate(stream_.device(), host.size()), host.size()};
    std::memset(host_words.data(), 0xa5, host.size());
    upload();
  }
  ~ValueTwin() { driver_->deallocate(stream_.device(), device.data(), device.size()); }
  ValueTwin(const ValueTwin&) = delete;
  ValueTwin& operator=(const ValueTwin&) = delete;

  ValueTwin& randomized(std::mt19937_64& random) {
    if (type.plaintext_form == scheme::PlaintextForm::compact) {
      // Any sign, and large.
      for (std::uint64_t& word : host_words)
        word = static_cast<std::uint64_t>(static_cast<std::int64_t>(random()) >> 8);
      upload();
      return *this;
    }
    const bool key = type.basis == scheme::Basis::qp;
    const int special = key ? parameters_.special_limbs() : 0;
    const int limbs = special + parameters_.limbs(type.level);
    const std::size_t per_limb = host_words.size() / static_cast<std::size_t>(limbs);
    for (int limb = 0; limb < limbs; ++limb) {
      const std::uint64_t q = limb < special
                                  ? parameters_.p()[static_cast<std::size_t>(limb)].value
                                  : parameters_.q()[static_cast<std::size_t>(limb - special)].value;
      for (std::size_t i = 0; i < per_limb; ++i) {
        host_words[static_cast<std::size_t>(limb) * per_limb + i] = random() % q;
      }
    }
    upload();
    return *this;
  }
  /// Random words, for values that are copied or are seeds.
  ValueTwin& filled(std::mt19937_64& random) {
    for (std::uint64_t& word : host_words) word = random();
    upload();
    return *this;
  }
  std::span<std::byte> host_bytes() { return {reinterpret_cast<std::byte*>(host_words.data()), host.size()}; }
  bool same() {
    driver_->copy(stream_, {memory::Location::pageable_host(), host.data(), host.size()},
                  {stream_.device(), device.data(), device.size()});
    driver_->synchronize(stream_);
    return std::memcmp(host.data(), host_words.data(), host.size()) == 0;
  }

  const scheme::ValueType type;
  std::vector<std::byte> host;
  std::vector<std::uint64_t> host_words;
  std::span<std::byte> device;

 private:
  void upload() {
    driver_->copy(stream_, {stream_.device(), device.data(), device.size()},
                  {memory::Location::pageable_host(), host_bytes().data(), host.size()});
    driver_->synchronize(stream_);
  }
  scheme::Parameters parameters_;
  std::shared_ptr<memory::Driver> driver_;
  memory::Stream stream_;
};

/// Storage of a workspace on a device: poison, or nothing at all where a checker looks for reads of that.
class DeviceWorkspace {
 public:
  DeviceWorkspace(std::shared_ptr<memory::Driver> driver, const memory::Stream& stream, Bytes bytes)
      : driver_(std::move(driver)),
        at_(stream.device()),
        bytes_(bytes),
        data_(driver_->allocate(at_, bytes)) {
    if (one_allocation_per_block()) return;
    std::vector<std::byte> poison(bytes, std::byte{0xff});
    driver_->copy(stream, {at_, data_, bytes}, {memory::Location::pageable_host(), poison.data(), bytes});
    driver_->synchronize(stream);
  }
  ~DeviceWorkspace() { driver_->deallocate(at_, data_, bytes_); }
  DeviceWorkspace(const DeviceWorkspace&) = delete;
  DeviceWorkspace& operator=(const DeviceWorkspace&) = delete;
  ckks::Workspace span() const { return {data_, bytes_}; }

 private:
  std::shared_ptr<memory::Driver> driver_;
  memory::Location at_;
  Bytes bytes_;
  std::byte* data_;
};

/// Parameters, and a context on either back end.
struct EvaluatorRig {
  explicit EvaluatorRig(const scheme::ParametersLiteral& literal)
      : parameters(scheme::Parameters::make(literal)),
        driver(memory::make_cuda_driver({.one_allocation_per_block = one_allocation_per_block()})),
        stream(driver->make_stream(memory::Location::cuda(0), "parity")),
        host(ckks::Context::on_host(parameters)),
        device(parameters, ring::make_cuda_backend(host.backend().shared_basis(), driver, stream.device())) {}

  scheme::Parameters parameters;
  std::shared_ptr<memory::Driver> driver;
  memory::Stream stream;
  ckks::Context host, device;
};

}  // namespace fheres::test
