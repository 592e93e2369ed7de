#include <cmath>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include <fheres/report/json.hpp>
#include <fheres/report/table.hpp>
#include <fheres/scheme/advice.hpp>
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

struct ParamsOptions {
  std::string preset;
  bool advise = false;
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

std::string primes_text(std::span<const scheme::Modulus> primes) {
  // Runs of one size: `60, 40x34`.
  std::string text;
  for (std::size_t i = 0; i < primes.size();) {
    std::size_t end = i;
    while (end < primes.size() && std::lround(std::log2(static_cast<double>(primes[end].value))) ==
                                      std::lround(std::log2(static_cast<double>(primes[i].value)))) {
      ++end;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ", ",
                        std::lround(std::log2(static_cast<double>(primes[i].value))));
    if (end - i > 1) text += fmt::format("x{}", end - i);
    i = end;
  }
  return text;
}

ExitCode advise(const ParamsOptions& options, const scheme::ParametersLiteral& literal) {
  Table table({{""},
               {"q"},
               {"p"},
               {"digits", Table::Align::right},
               {"log2(QP)", Table::Align::right},
               {"rotation key", Table::Align::right},
               {"seeded", Table::Align::right},
               {"workspace", Table::Align::right},
               {"fast", Table::Align::right},
               {"key switch", Table::Align::right}});
  Json list = Json::array();
  for (const scheme::Choice& choice : scheme::advise(literal)) {
    const Parameters& parameters = choice.parameters;
    table.add({choice.given ? "*" : "", primes_text(parameters.q()), primes_text(parameters.p()),
               fmt::format("{} of {}", parameters.digits(0), parameters.digit_limbs()),
               fmt::format("{:.1f}", parameters.log_qp()), format_bytes(choice.key),
               format_bytes(choice.seeded_key), format_bytes(choice.workspace),
               fmt::format("{} of {}", choice.cost.fast_transforms, choice.cost.transforms),
               report::format_duration(1000 * choice.cost.floor_us())});
    list.push_back({{"given", choice.given},
                    {"q", primes_text(parameters.q())},
                    {"p", primes_text(parameters.p())},
                    {"digits", parameters.digits(0)},
                    {"digit_limbs", parameters.digit_limbs()},
                    {"log_qp", parameters.log_qp()},
                    {"rotation_key", choice.key},
                    {"seeded_rotation_key", choice.seeded_key},
                    {"key_switch_workspace", choice.workspace},
                    {"transforms", choice.cost.transforms},
                    {"fast_transforms", choice.cost.fast_transforms},
                    {"compute_us", choice.cost.compute_us},
                    {"memory_us", choice.cost.memory_us}});
  }
  if (options.common.json) {
    fmt::print("{}",
               report::render({{"schema", "fheres/advice/v1"}, {"for", literal.name}, {"choices", list}}));
  } else if (!options.common.quiet) {
    fmt::print(
        "choices of P and digits for the depth and scale of {} (*), smallest key first\n\n{}\n"
        "fast: transforms by primes of at most {} bits, which go through a GPU's double-precision pipe;\n"
        "larger ones go through integers. key switch: the time that it takes at least, at the rates of one\n"
        "H200, to compare by: no promise.\n",
        literal.name, table.render(), scheme::kFastPrimeBits);
  }
  return ExitCode::done;
}

ExitCode params(const ParamsOptions& options) {
  if (options.advise) {
    const auto literal = scheme::find_preset(options.preset);
    if (literal) return advise(options, *literal);
    fmt::print(stderr, "fheres: --advise is for one preset, and `{}` is none; `fheres params` lists them\n",
               options.preset);
    return ExitCode::invalid;
  }
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

void add_params(Command& app, Action& action) {
  auto options = std::make_shared<ParamsOptions>();
  Command* command = app.add_subcommand(
      "params", "parameter sets: security, noise, bytes of every kind of value at every level");
  command->add_option("preset", options->preset, "a preset's name; all presets where none is given");
  command->add_flag("--advise", options->advise,
                    "other choices of P and digits for the preset's depth, with key bytes and cost");
  add_common(*command, options->common);
  command->footer("example: fheres params slots8192-scale40-levels7");
  command->callback([options, &action] { action = [options] { return params(*options); }; });
}

}  // namespace fheres::cli
