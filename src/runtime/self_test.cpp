#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/base/clock.hpp>
#include <fheres/base/sha256.hpp>
#include <fheres/ckks/evaluator.hpp>
#include <fheres/ckks/expansion.hpp>
#include <fheres/runtime/self_test.hpp>
#include <fheres/scheme/presets.hpp>

namespace fheres::runtime {
namespace {

using memory::Location;

constexpr const char* kPreset = "test-slots2048-scale40-levels5";
// The first digits of the SHA-256 of what each step gives.
constexpr std::array<const char*, 3> kKnown{"22ce2d093a7ac55d", "04181a081c99696a", "7924a354c4713131"};

using Words = std::vector<std::uint64_t>;

std::string hash_of(const Words& words) {
  Sha256 hash;
  hash.add(std::as_bytes(std::span(words)));
  return hash.finish().substr(0, 16);
}

/// Words of the device, freed with the object.
class DeviceWords {
 public:
  DeviceWords(memory::Driver& driver, const memory::Stream& stream, std::size_t words)
      : driver_(driver),
        stream_(stream),
        bytes_(words * sizeof(std::uint64_t)),
        data_(driver.allocate(stream.device(), bytes_)) {}
  ~DeviceWords() { driver_.deallocate(stream_.device(), data_, bytes_); }
  DeviceWords(const DeviceWords&) = delete;
  DeviceWords& operator=(const DeviceWords&) = delete;

  std::uint64_t* data() { return reinterpret_cast<std::uint64_t*>(data_); }
  void upload(const Words& words) {
    FHERES_CHECK(words.size() * sizeof(std::uint64_t) == bytes_);
    driver_.copy(stream_, {stream_.device(), data_, bytes_}, host(const_cast<std::uint64_t*>(words.data())));
    driver_.synchronize(stream_);
  }
  Words download() {
    Words words(bytes_ / sizeof(std::uint64_t));
    driver_.copy(stream_, host(words.data()), {stream_.device(), data_, bytes_});
    driver_.synchronize(stream_);
    return words;
  }

 private:
  memory::Extent host(std::uint64_t* words) const {
    return {Location::pageable_host(), reinterpret_cast<std::byte*>(words), bytes_};
  }
  memory::Driver& driver_;
  memory::Stream stream_;
  Bytes bytes_;
  std::byte* data_;
};

/// One back end, the host's or the device's: runs a step on words that it is given and gives words back.
struct Side {
  const ckks::Context& context;
  memory::Driver* driver = nullptr;  // absent: the host
  memory::Stream stream{};

  /// `work(in, out, scratch)`, each an address where this side computes.
  template <class Work>
  Words run(const Words& in, std::size_t out_words, std::size_t scratch_words, std::int64_t& ns,
            const Work& work) const {
    if (driver == nullptr) {
      Words input = in, out(out_words), scratch(scratch_words);
      const std::int64_t start = now_ns();
      work(input.data(), out.data(), scratch.data());
      ns = now_ns() - start;
      return out;
    }
    DeviceWords input(*driver, stream, in.size()), out(*driver, stream, out_words);
    DeviceWords scratch(*driver, stream, std::max<std::size_t>(scratch_words, 1));
    input.upload(in);
    const std::int64_t start = now_ns();
    work(input.data(), out.data(), scratch.data());
    driver->synchronize(stream);
    ns = now_ns() - start;
    return out.download();
  }
};

class SelfTest {
 public:
  SelfTest(const Machine& machine, Location device)
      : parameters_(scheme::Parameters::make(scheme::find_preset(kPreset).value())),
        on_host_(ckks::Context::on_host(parameters_)),
        on_device_(machine.context(parameters_, device)),
        host_{on_host_},
        device_{on_device_, machine.driver.get(), machine.driver->make_stream(device, "self-test")} {}

  std::vector<SelfTestStep> run() {
    expansion();
    transform();
    key_switch();
    return std::move(steps_);
  }

 private:
  std::size_t n() const { return parameters_.n(); }
  int primes() const { return parameters_.prime_count(); }
  std::size_t words_of(const scheme::ValueType& type) const {
    return (scheme::bytes_of(parameters_, type) + 7) / 8;
  }
  /// 0, 1, 2, .. as the bytes of a public seed.
  static Words seed() {
    Words words(ring::kSeedBytes / sizeof(std::uint64_t));
    auto bytes = std::as_writable_bytes(std::span(words));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
    return words;
  }

  /// The same work on both sides, and what is known of its result.
  template <class Work>
  Words step(const char* name, const Words& in, std::size_t out_words, std::size_t scratch_words,
             const Work& work) {
    SelfTestStep& result = steps_.emplace_back();
    result.name = name;
    const Words expected = host_.run(in, out_words, scratch_words, result.host_ns,
                                     [&](auto* a, auto* b, auto* c) { work(host_, a, b, c); });
    const Words actual = device_.run(in, out_words, scratch_words, result.device_ns,
                                     [&](auto* a, auto* b, auto* c) { work(device_, a, b, c); });
    if (const std::string hash = hash_of(expected); hash != kKnown[steps_.size() - 1]) {
      result.detail =
          fmt::format("the host's residues have the hash {}, expected {}", hash, kKnown[steps_.size() - 1]);
    } else if (const auto differ = std::mismatch(expected.begin(), expected.end(), actual.begin());
               differ.first != expected.end()) {
      result.detail = fmt::format("residue {} is {} on the device, expected {}",
                                  differ.first - expected.begin(), *differ.second, *differ.first);
    } else {
      result.passed = true;
    }
    return expected;
  }

  /// Two polynomials over all primes, out of the seed.
  void expansion() {
    uniform_ = step("expansion", seed(), 2 * static_cast<std::size_t>(primes()) * n(), 0,
                    [&](const Side& side, auto* in, auto* out, auto*) {
                      side.context.backend().expand(reinterpret_cast<const std::byte*>(in), 0,
                                                    ring::dense_view(out, 0, primes(), 2, n()), side.stream);
                    });
  }

  /// Forward, and the square transformed back.
  void transform() {
    step("transform", uniform_, uniform_.size(), 0, [&](const Side& side, auto* in, auto* out, auto*) {
      const ring::Backend& backend = side.context.backend();
      const ring::View values = ring::dense_view(in, 0, primes(), 2, n());
      const ring::View result = ring::dense_view(out, 0, primes(), 2, n());
      backend.forward(values, side.stream);
      backend.multiply(values, values, values, side.stream);
      backend.inverse(values, result, side.stream);
    });
  }

  /// A ciphertext is rotated by a key that is expanded first. Both are uniform: to a back end as good as real ones.
  void key_switch() {
    const scheme::ValueType ciphertext = scheme::ciphertext_type(parameters_, 0);
    const scheme::ValueType key = scheme::rotation_key_type(parameters_, 1, 0);
    const scheme::ValueType half = scheme::seeded_form(key);
    const scheme::ValueType operands[] = {ciphertext};
    const Bytes workspace = scheme::infer(parameters_, scheme::Operation::rotate, operands, &key).workspace;
    const std::size_t key_at = words_of(ciphertext);
    // The ciphertext, then the key's half with its seed.
    Words in(key_at + words_of(half));
    fill(ckks::CiphertextRef(parameters_, ciphertext, bytes_at(in.data(), ciphertext)).data(),
         parameters_.special_limbs(), parameters_.limbs(0), 2);
    fill(in.data() + key_at, 0, primes(), parameters_.digits(0));
    const Words public_seed = seed();
    std::copy(public_seed.begin(), public_seed.end(),
              in.end() - static_cast<std::ptrdiff_t>(public_seed.size()));
    step("key switch", in, words_of(ciphertext), words_of(key) + workspace / sizeof(std::uint64_t),
         [&](const Side& side, auto* from, auto* out, auto* scratch) {
           const ckks::KeyRef full(parameters_, key, bytes_at(scratch, key));
           ckks::expand(side.context, ckks::KeyView(parameters_, half, bytes_at(from + key_at, half)), full,
                        side.stream);
           ckks::Evaluator(side.context)
               .rotate(ckks::CiphertextView(parameters_, ciphertext, bytes_at(from, ciphertext)), full,
                       {parameters_, ciphertext, bytes_at(out, ciphertext)},
                       {reinterpret_cast<std::byte*>(scratch + words_of(key)), workspace}, side.stream);
         });
  }

  /// Uniform residues, each polynomial a stream of its own.
  void fill(std::uint64_t* words, int first_prime, int limbs, int polynomials) const {
    const Words key = seed();
    on_host_.backend().expand(reinterpret_cast<const std::byte*>(key.data()), 100,
                              ring::dense_view(words, first_prime, limbs, polynomials, n()), {});
  }
  std::span<std::byte> bytes_at(std::uint64_t* words, const scheme::ValueType& type) const {
    return {reinterpret_cast<std::byte*>(words), scheme::bytes_of(parameters_, type)};
  }

  scheme::Parameters parameters_;
  ckks::Context on_host_, on_device_;
  Side host_, device_;
  Words uniform_;
  std::vector<SelfTestStep> steps_;
};

}  // namespace

std::vector<SelfTestStep> self_test(const Machine& machine, Location device) {
  return SelfTest(machine, device).run();
}

}  // namespace fheres::runtime
