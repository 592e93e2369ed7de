#include <cmath>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include <fheres/report/json.hpp>
#include <fheres/report/table.hpp>
#include <fheres/scheme/presets.hpp>
#include <fheres/scheme/sizes.hpp>
#include <fheres/scheme/value_type.hpp>

#include "command.hpp"
#include "options.hpp"

namespace fheres::cli {
namespace {

using report::Json;
using report::Table;
using scheme::Parameters;

struct Options {
  std::string preset;
  CommonOptions common;
};

/// Bytes of every kind of value at one level.
struct LevelBytes {
  Bytes ciphertext, plaintext, rotation_key, workspace;
};

LevelBytes bytes_at(const Parameters& parameters, int level) {
  const auto bytes = [&](scheme::Kind kind) {
    scheme::ValueType type;
    type.kind = kind;
    type.level = level;
    type.steps = 1;
    if (kind == scheme::Kind::rotation_key) type.basis = scheme::Basis::qp;
    return scheme::bytes_of(parameters, type);
  };
  return {bytes(scheme::Kind::ciphertext), bytes(scheme::Kind::plaintext), bytes(scheme::Kind::rotation_key),
          scheme::key_switch_workspace(parameters, level, 0)};
}

std::string security_text(const Parameters& parameters) {
  const auto bound = parameters.security_bound();
  return bound ? fmt::format("log2(QP) {:.1f} of {} bits for 128-bit security", parameters.log_qp(), *bound)
               : fmt::format("INSECURE (security: none), log2(QP) {:.1f}", parameters.log_qp());
}

std::string list_presets() {
  Table table({{"preset"},
               {"slots", Table::Align::right},
               {"levels", Table::Align::right},
               {"log2(QP)", Table::Align::right},
               {"ciphertext", Table::Align::right},
               {"rotation key", Table::Align::right},
               {"security"}});
  for (const scheme::Preset& preset : scheme::presets()) {
    const Parameters parameters = Parameters::make(preset.literal);
    const LevelBytes bytes = bytes_at(parameters, 0);
    table.add({preset.name, std::to_string(parameters.slots()), std::to_string(parameters.max_level()),
               fmt::format("{:.1f}", parameters.log_qp()), format_bytes(bytes.ciphertext),
               format_bytes(bytes.rotation_key), parameters.security_bound() ? "128 bits" : "none"});
  }
  return table.render(0);
}

std::string describe(const Parameters& parameters) {
  std::string text = fmt::format(
      "{}: N = {}, {} slots, {} levels, scale 2^{}\n{} Q limbs, {} special limbs, digits of {} limbs; {}\n"
      "key-switch error deviation {:.3g}, fresh encryption {:.3g}; tables on the device {}\n\n",
      parameters.name(), parameters.n(), parameters.slots(), parameters.max_level(), parameters.scale_bits(),
      parameters.q().size(), parameters.special_limbs(), parameters.digit_limbs(), security_text(parameters),
      parameters.key_switch_deviation(0), parameters.fresh_deviation(),
      format_bytes(scheme::context_bytes(parameters)));
  Table table({{"level", Table::Align::right},
               {"limbs", Table::Align::right},
               {"ciphertext", Table::Align::right},
               {"plaintext", Table::Align::right},
               {"rotation key", Table::Align::right},
               {"key-switch workspace", Table::Align::right}});
  for (int level = 0; level <= parameters.max_level(); ++level) {
    const LevelBytes bytes = bytes_at(parameters, level);
    table.add({std::to_string(level), std::to_string(parameters.limbs(level)), format_bytes(bytes.ciphertext),
               format_bytes(bytes.plaintext), format_bytes(bytes.rotation_key),
               format_bytes(bytes.workspace)});
  }
  return text + table.render();
}

Json parameters_json(const Parameters& parameters) {
  Json levels = Json::array();
  for (int level = 0; level <= parameters.max_level(); ++level) {
    const LevelBytes bytes = bytes_at(parameters, level);
    levels.push_back({{"level", level},
                      {"limbs", parameters.limbs(level)},
                      {"ciphertext", bytes.ciphertext},
                      {"plaintext", bytes.plaintext},
                      {"rotation_key", bytes.rotation_key},
                      {"key_switch_workspace", bytes.workspace}});
  }
  const auto primes = [](std::span<const scheme::Modulus> moduli) {
    Json list = Json::array();
    for (const scheme::Modulus& modulus : moduli) list.push_back(modulus.value);
    return list;
  };
  const auto bound = parameters.security_bound();
  return {{"name", parameters.name()},
          {"id", parameters.id()},
          {"log_n", parameters.log_n()},
          {"slots", parameters.slots()},
          {"levels", parameters.max_level()},
          {"scale_bits", parameters.scale_bits()},
          {"digit_limbs", parameters.digit_limbs()},
          {"log_qp", parameters.log_qp()},
          {"security_bound", bound ? Json(*bound) : Json(nullptr)},
          {"q", primes(parameters.q())},
          {"p", primes(parameters.p())},
          {"key_switch_deviation", parameters.key_switch_deviation(0)},
          {"fresh_deviation", parameters.fresh_deviation()},
          {"context_bytes", scheme::context_bytes(parameters)},
          {"bytes", std::move(levels)}};
}

ExitCode params(const Options& options) {
  Json list = Json::array();
  std::string text;
  if (options.preset.empty()) {
    text = list_presets();
    for (const scheme::Preset& preset : scheme::presets()) {
      if (options.common.json) list.push_back(parameters_json(Parameters::make(preset.literal)));
    }
  } else {
    const auto literal = scheme::find_preset(options.preset);
    if (!literal) {
      fmt::print(stderr, "fheres: `{}` is no preset; `fheres params` lists them\n", options.preset);
      return ExitCode::invalid;
    }
    const Parameters parameters = Parameters::make(*literal);
    text = describe(parameters);
    list.push_back(parameters_json(parameters));
  }
  if (options.common.json) {
    fmt::print("{}", report::render({{"schema", "fheres/parameters/v1"}, {"presets", std::move(list)}}));
  } else if (!options.common.quiet) {
    fmt::print("{}", text);
  }
  return ExitCode::done;
}

}  // namespace

void add_params(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "params", "parameter sets: security, noise, bytes of every kind of value at every level");
  command->add_option("preset", options->preset, "a preset's name; all presets where none is given");
  add_common(*command, options->common);
  command->footer("example: fheres params slots8192-scale40-levels7");
  command->callback([options, &action] { action = [options] { return params(*options); }; });
}

}  // namespace fheres::cli
