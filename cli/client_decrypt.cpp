#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include <fheres/ckks/decryptor.hpp>
#include <fheres/ckks/encoder.hpp>
#include <fheres/ckks/flooding.hpp>
#include <fheres/ckks/key_file.hpp>
#include <fheres/ckks/value_file.hpp>
#include <fheres/report/json.hpp>
#include <fheres/runtime/shadow.hpp>
#include <fheres/workload/estimate.hpp>

#include "client.hpp"
#include "document.hpp"

namespace fheres::cli {
namespace {

using report::Json;

struct Options : ClientOptions {
  std::vector<std::string> files;
  std::optional<int> share;
  std::uint64_t slots = 8;
  bool check = false;
};

/// How many bits of noise make a result safe to share: `share` more than its coefficients may err by. The error in slots
/// is what the workload's operations can make of it; a coefficient's is sqrt(N) smaller.
int noise_bits(const workload::Workload& workload, const scheme::Estimate& estimate,
               const scheme::Scale& scale, int share) {
  const double n = static_cast<double>(workload.world.parameters->n());
  const double coefficient = std::max(estimate.bound() * scale.to_double() / std::sqrt(n), 1.0);
  return static_cast<int>(std::ceil(std::log2(coefficient))) + share;
}

class Decryption {
 public:
  Decryption(const workload::Workload& workload, const Options& options)
      : workload_(workload),
        options_(options),
        host_(ckks::Context::on_host(*workload.world.parameters)),
        encoder_(host_),
        secret_(ckks::load_secret(host_, options.secret)),
        decryptor_(host_, secret_),
        shadow_(workload) {
    if (options.share) estimates_ = workload::estimates(workload);
    if (!options.check) return;
    for (const workload::Stage& stage : workload.stages) shadow_.run(stage);
  }

  void run(const std::string& path) {
    const ckks::ValueFile file(*workload_.world.parameters, path);
    for (const ckks::StoredValue& value : file.values()) {
      if (value.type.kind != scheme::Kind::ciphertext || scheme::is_seeded(value.type)) {
        throw FileError(fmt::format("{}: `{}` is no ciphertext in full form", path, value.name));
      }
      ckks::Ciphertext ciphertext(*workload_.world.parameters, value.type);
      file.read(value.name, value.type, ciphertext.bytes());
      show(path, value, decryptor_.decrypt(ciphertext.view()));
    }
  }

  ExitCode finish() const {
    if (options_.common.json) {
      fmt::print("{}", report::render({{"schema", "fheres/decrypted/v1"}, {"values", list_}}));
    }
    return wrong_ ? ExitCode::wrong_result : ExitCode::done;
  }

 private:
  void show(const std::string& path, const ckks::StoredValue& value, ckks::Plaintext plaintext) {
    const auto index = workload_.world.find(value.name);
    Json noise = nullptr;
    if (options_.share) {
      if (!index || !estimates_[*index]) {
        throw FileError(fmt::format("{}: `{}` is no value of {}, so how much it errs is not known", path,
                                    value.name, options_.workload));
      }
      const int bits = noise_bits(workload_, *estimates_[*index], value.type.scale, *options_.share);
      ckks::flood(host_, plaintext, bits, ckks::Randomness::from_system().seed({}));
      noise = ckks::flooding_deviation(*workload_.world.parameters, value.type.scale, bits);
    }
    const std::vector<double> slots = encoder_.decode_real(plaintext.view());
    const std::size_t count = std::min<std::size_t>(slots.size(), options_.slots);
    const Json error = options_.check ? largest_error(index, slots) : Json(nullptr);
    const Json expected = options_.check ? expected_error(index, slots) : Json(nullptr);
    if (options_.common.json) {
      list_.push_back(
          {{"name", value.name},
           {"file", path},
           {"level", value.type.level},
           {"slots", std::vector<double>(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(count))},
           {"flooding_deviation", noise},
           {"largest_error", error},
           {"largest_error_of_expectation", expected}});
      return;
    }
    if (options_.common.quiet) return;
    fmt::print("{}:", value.name);
    for (std::size_t i = 0; i < count; ++i) fmt::print(" {:.10g}", slots[i]);
    fmt::print("{}\n", count < slots.size() ? fmt::format(" ... ({} slots)", slots.size()) : "");
    if (!noise.is_null()) fmt::print("  flooded: deviation {:.2g} in every slot\n", noise.get<double>());
    if (!error.is_null()) {
      fmt::print("  largest error {:.1e}, tolerance {:.1e}\n", error.get<double>(),
                 workload_.checks.tolerance);
    }
    if (!expected.is_null())
      fmt::print("  largest error against the expectation {:.1e}\n", expected.get<double>());
  }

  /// Against the clear-text shadow; null where that is not known.
  Json largest_error(std::optional<workload::ValueIndex> index, const std::vector<double>& slots) {
    if (!index || shadow_.slots(*index).empty()) return nullptr;
    const double largest = runtime::largest_error(slots, shadow_.slots(*index));
    // A comparison with not-a-number is false, so it must not be what passes.
    if (!(largest <= workload_.checks.tolerance)) wrong_ = true;
    return largest;
  }

  /// Against what the document says of the output itself; null where it says nothing.
  Json expected_error(std::optional<workload::ValueIndex> index, const std::vector<double>& slots) {
    for (const workload::Expectation& expectation : workload_.checks.expect) {
      if (index != expectation.value) continue;
      const double largest =
          runtime::largest_error(slots, runtime::expected_slots(expectation, slots.size()));
      if (!(largest <= expectation.tolerance.value_or(workload_.checks.tolerance))) wrong_ = true;
      return largest;
    }
    return nullptr;
  }

  const workload::Workload& workload_;
  const Options& options_;
  ckks::Context host_;
  ckks::Encoder encoder_;
  ckks::SecretKey secret_;
  ckks::Decryptor decryptor_;
  runtime::Shadow shadow_;
  std::vector<std::optional<scheme::Estimate>> estimates_;
  Json list_ = Json::array();
  bool wrong_ = false;
};

ExitCode decrypt(const Options& options) {
  const auto workload = load_workload(options.workload, options.planning, options.common);
  if (!workload) return ExitCode::invalid;
  Decryption decryption(*workload, options);
  for (const std::string& file : options.files) decryption.run(file);
  return decryption.finish();
}

}  // namespace

void add_client_decrypt(Command& client, Action& action) {
  auto options = std::make_shared<Options>();
  Command* command = client.add_subcommand(
      "decrypt", "results of `run --outputs`; for the key's owner alone, unless --share floods them");
  add_client_options(*command, *options);
  names_file(command->add_option("files", options->files, "files of ciphertexts"))->required();
  names_file(command->add_option("--secret", options->secret, "the secret's file"))->required();
  command
      ->add_option(
          "--share", options->share,
          "adds noise of so many bits more than the result may err by, so that it can be shown to others")
      ->between(1, 60);
  command->add_option("--slots", options->slots, "how many slots to show")->whole()->capture_default_str();
  command->add_flag("--check", options->check,
                    "compare with the workload's clear text; exit 5 outside of its tolerance");
  command->footer(
      "example: fheres client decrypt samples/client-server.yaml out/y.safetensors --secret "
      "secret.safetensors");
  command->callback([options, &action] { action = [options] { return decrypt(*options); }; });
}

}  // namespace fheres::cli
