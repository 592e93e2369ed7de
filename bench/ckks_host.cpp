// CKKS operations and the client's work on the host. See README.md.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <optional>
#include <random>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fheres/ckks/decryptor.hpp>
#include <fheres/ckks/encoder.hpp>
#include <fheres/ckks/encryptor.hpp>
#include <fheres/ckks/key_generator.hpp>
#include <fheres/memory/emulated.hpp>
#include <fheres/scheme/sizes.hpp>

#include "operations.hpp"
#include "sets.hpp"

namespace fheres::bench {
namespace {

struct Options {
  std::vector<std::string> sets;
  std::vector<std::string> operations;  // empty: all
  int threads = 0;
  double seconds = 0.5;
  std::string json;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 >= argc) throw std::invalid_argument("expected a value after " + name);
    const std::string value = argv[i + 1];
    if (name == "--set") {
      options.sets.push_back(value);
    } else if (name == "--operation") {
      options.operations.push_back(value);
    } else if (name == "--threads") {
      options.threads = std::stoi(value);
    } else if (name == "--seconds") {
      options.seconds = std::stod(value);
    } else if (name == "--json") {
      options.json = value;
    } else {
      throw std::invalid_argument("expected --set, --operation, --threads, --seconds or --json, got " + name);
    }
  }
  if (options.sets.empty()) options.sets.push_back("F");
  return options;
}

struct Row {
  std::string set;
  std::string operation;
  Bytes bytes;
  std::vector<double> microseconds;  // of each call, ascending

  double median() const { return microseconds[microseconds.size() / 2]; }
  double minimum() const { return microseconds.front(); }
};

using Clock = std::chrono::steady_clock;

// At least three calls, after one that warms up, and for so many seconds at most a hundred.
Row time(const std::string& set, const std::string& operation, Bytes bytes, double seconds,
         const std::function<void()>& run) {
  constexpr std::size_t kLeast = 3, kMost = 100;
  run();
  std::vector<double> samples;
  double total = 0;
  while (samples.size() < kLeast || (total < seconds && samples.size() < kMost)) {
    const Clock::time_point begun = Clock::now();
    run();
    const double took = std::chrono::duration<double>(Clock::now() - begun).count();
    samples.push_back(1e6 * took);
    total += took;
  }
  std::sort(samples.begin(), samples.end());
  return {set, operation, bytes, samples};
}

/// What the client does, at level 0: bytes are those of what it makes, or reads.
class Client {
 public:
  explicit Client(const ckks::Context& context)
      : parameters_(context.parameters()),
        generator_(context, ckks::Randomness::from_system()),
        secret_(generator_.secret_key()),
        encoder_(context),
        encryptor_(context, generator_.public_key(secret_), ckks::Randomness::from_system()),
        decryptor_(context, secret_) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> slot(-1, 1);
    for (std::size_t i = 0; i < parameters_.n() / 2; ++i) message_.push_back(slot(random));
    plaintext_.emplace(encode());
    ciphertext_.emplace(encryptor_.encrypt(plaintext_->view(), "x"));
  }

  struct Work {
    std::string name;
    Bytes bytes;
    std::function<void()> run;
  };
  std::vector<Work> work() const {
    const Bytes plaintext = scheme::bytes_of(parameters_, plaintext_->type());
    const Bytes ciphertext = scheme::bytes_of(parameters_, ciphertext_->type());
    const scheme::ValueType key = scheme::relinearization_key_type();
    return {{"encode", plaintext, [this] { (void)encode(); }},
            {"encrypt", ciphertext, [this] { (void)encryptor_.encrypt(plaintext_->view(), "x"); }},
            {"decrypt", ciphertext, [this] { (void)decryptor_.decrypt(ciphertext_->view()); }},
            {"decode", plaintext, [this] { (void)encoder_.decode_real(plaintext_->view()); }},
            {"key generation", scheme::bytes_of(parameters_, key),
             [this] { (void)generator_.relinearization_key(secret_, 0, "relinearization"); }}};
  }

 private:
  ckks::Plaintext encode() const { return encoder_.encode(message_, 0, parameters_.canonical_scale(0)); }

  scheme::Parameters parameters_;
  ckks::KeyGenerator generator_;
  ckks::SecretKey secret_;
  ckks::Encoder encoder_;
  ckks::Encryptor encryptor_;
  ckks::Decryptor decryptor_;
  std::vector<double> message_;
  std::optional<ckks::Plaintext> plaintext_;
  std::optional<ckks::Ciphertext> ciphertext_;
};

std::vector<Row> run(const std::string& set, const Options& options) {
  const scheme::Parameters parameters = scheme::Parameters::make(find_set(set));
  const ckks::Context context = ckks::Context::on_host(parameters);
  const ckks::Evaluator evaluator(context);
  const std::shared_ptr<memory::Driver> driver = memory::make_emulated_driver();
  const auto wanted = [&](const std::string& name) {
    const std::vector<std::string>& only = options.operations;
    return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
  };
  std::vector<Row> rows;
  std::unique_ptr<Operands> operands;
  std::optional<Shape> shape;
  for (const Operation& operation : operations(parameters)) {
    if (!wanted(operation.name)) continue;
    if (shape != operation.shape) {
      shape = operation.shape;
      operands.reset();
      operands = std::make_unique<Operands>(parameters, *shape, driver, memory::Location::pageable_host());
      operands->randomize(context.basis(), 1);
    }
    rows.push_back(time(set, operation.name, operation.bytes, options.seconds,
                        [&] { operation.run(evaluator, *operands, {}); }));
  }
  const Client client(context);
  for (const Client::Work& work : client.work()) {
    if (wanted(work.name)) rows.push_back(time(set, work.name, work.bytes, options.seconds, work.run));
  }
  return rows;
}

void print(const std::vector<Row>& rows) {
  fmt::print("{:<5} {:<29} {:>12} {:>12} {:>6} {:>9} {:>7}\n", "set", "operation", "median us", "minimum us",
             "calls", "MB", "GB/s");
  for (const Row& row : rows) {
    fmt::print("{:<5} {:<29} {:>12.1f} {:>12.1f} {:>6} {:>9.1f} {:>7.2f}\n", row.set, row.operation,
               row.median(), row.minimum(), row.microseconds.size(), 1e-6 * static_cast<double>(row.bytes),
               1e-3 * static_cast<double>(row.bytes) / row.median());
  }
}

void write_json(const std::string& path, const std::vector<Row>& rows, int threads) {
  std::string text = fmt::format(
      "{{\n  \"schema\": \"fheres/bench-ckks-host/v1\",\n  \"threads\": {},\n  \"operations\": [\n", threads);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    text += fmt::format(
        "    {{\"set\": \"{}\", \"operation\": \"{}\", \"bytes\": {}, \"median_us\": {:.3f}, "
        "\"minimum_us\": {:.3f}, \"samples_us\": [{:.3f}]}}{}\n",
        row.set, row.operation, row.bytes, row.median(), row.minimum(), fmt::join(row.microseconds, ", "),
        i + 1 < rows.size() ? "," : "");
  }
  text += "  ]\n}\n";
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

int main_checked(int argc, char** argv) {
  const Options options = parse(argc, argv);
  ring::use_threads(options.threads);
  std::vector<Row> rows;
  for (const std::string& set : options.sets) {
    for (Row& row : run(set, options)) rows.push_back(std::move(row));
  }
  print(rows);
  if (!options.json.empty()) write_json(options.json, rows, options.threads);
  return 0;
}

}  // namespace
}  // namespace fheres::bench

int main(int argc, char** argv) {
  try {
    return fheres::bench::main_checked(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_ckks_host: %s\n", error.what());
    return 1;
  }
}
