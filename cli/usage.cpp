#include "usage.hpp"

#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fheres/report/table.hpp>
#include <fheres/workload/check.hpp>

namespace fheres::cli {
namespace {

/// The command that was being read, as it is typed.
const CLI::App& innermost(const CLI::App& app, std::string& name) {
  name = app.get_name();
  const CLI::App* at = &app;
  for (auto below = at->get_subcommands(); !below.empty(); below = at->get_subcommands()) {
    at = below.front();
    name += " " + at->get_name();
  }
  return *at;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& names) {
  const std::string near = workload::closest(word, names);
  return near.empty() ? "" : fmt::format("; did you mean `{}`?", near);
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* below : app.get_subcommands({})) names.push_back(below->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// What was typed and means nothing: the first of it.
std::string unexpected(const CLI::App& command, const std::string& word) {
  if (!command.get_subcommands({}).empty() && !word.starts_with('-'))
    return fmt::format("there is no command `{}`{}", word, did_you_mean(word, commands_of(command)));
  if (word.starts_with('-')) {
    const std::string option = word.substr(0, word.find('='));
    return fmt::format("there is no option `{}`{}", option, did_you_mean(option, options_of(command)));
  }
  return fmt::format("`{}` is one argument too many", word);
}

std::string what_is_wrong(const CLI::App& command, const CLI::Error& error) {
  const std::vector<std::string> left = command.remaining();
  const bool extras = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const bool required = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  // With an unknown word or option, what is missing is not what is wrong.
  if ((extras || required) && !left.empty()) return unexpected(command, left.front());
  if (required && !commands_of(command).empty())
    return fmt::format("a command is missing: {}", fmt::join(commands_of(command), ", "));
  return error.what();
}

}  // namespace

std::string usage_message(const CLI::App& app, const CLI::Error& error) {
  std::string name;
  const CLI::App& command = innermost(app, name);
  const std::string text =
      fmt::format("{}: {}\n`{} --help` says what there is{}", name, what_is_wrong(command, error), name,
                  commands_of(command).empty() ? ", with an example" : "");
  return fmt::format("{}\n", fmt::join(report::wrap(text, report::kColumns), "\n"));
}

CLI::Validator whole_number(std::uint64_t low, std::uint64_t high) {
  const auto check = [low, high](const std::string& text) -> std::string {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [parsed, problem] = std::from_chars(text.data(), end, number);
    if (problem == std::errc{} && parsed == end && number >= low && number <= high) return "";
    return fmt::format("`{}` is no whole number from {} to {}", text, low, high);
  };
  const bool bounded = high != std::numeric_limits<std::uint64_t>::max();
  return {[check](std::string& text) { return check(text); },
          bounded ? fmt::format("INT in [{} - {}]", low, high) : ""};
}

CLI::Option* names_file(CLI::Option* option, const char* word) {
  option->type_name(word);
  return option->check(
      [](const std::string& text) { return text.empty() ? std::string("the name is empty") : ""; });
}

}  // namespace fheres::cli
