#include "parser.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fheres/report/table.hpp>
#include <fheres/workload/check.hpp>

namespace fheres::cli {
namespace {

constexpr std::string_view kExample = "example: ";

/// `TEXT:{auto,always,never}` says which words there are.
std::vector<std::string> choices_of(const std::string& type) {
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}', open);
  if (open == type.npos || close == type.npos) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

/// The parser's word for a type, for people.
std::string value_name(const std::string& type, const std::vector<std::string>& choices) {
  if (!choices.empty()) return fmt::format("{}", fmt::join(choices, "|"));
  const std::string plain = type.substr(0, type.find_first_of(": "));
  if (plain == "UINT" || plain == "INT" || plain == "POSITIVE" || plain == "NONNEGATIVE") return "N";
  return plain == "FLOAT" ? "NUMBER" : plain;
}

/// ` (0 to 1024)` of `INT:INT in [0 - 1024]`.
std::string range_of(const std::string& type) {
  const std::size_t open = type.find(" in [");
  const std::size_t close = type.find(']', open);
  if (open == type.npos || close == type.npos) return "";
  return " (" + CLI::detail::find_and_replace(type.substr(open + 5, close - open - 5), " - ", " to ") + ")";
}

ManualOption describe(const CLI::Option& option) {
  ManualOption item;
  item.argument = option.get_positional();
  if (item.argument) {
    item.names = {option.get_name(true, false)};
  } else {
    for (const std::string& name : option.get_snames()) item.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) item.names.push_back("--" + name);
  }
  const bool flag = option.get_type_size() == 0;
  if (!flag) {
    const std::string type = option.get_type_name();
    item.choices = choices_of(type);
    item.value = value_name(type, item.choices);
  }
  item.text = option.get_description() + (flag ? "" : range_of(option.get_type_name()));
  const std::string& standard = option.get_default_str();
  if (!flag && !standard.empty() && standard != "[]" && standard != "\"\"")
    item.text += fmt::format(" (default: {})", standard);
  item.required = option.get_required();
  item.repeats = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  return item;
}

Manual describe(const CLI::App& app, const std::string& parent) {
  Manual manual;
  manual.name = parent.empty() ? app.get_name() : parent + " " + app.get_name();
  manual.text = app.get_description();
  manual.footer = app.get_footer();
  if (manual.footer.starts_with(kExample)) {
    const std::size_t end = std::min(manual.footer.find('\n'), manual.footer.size());
    manual.example = manual.footer.substr(kExample.size(), end - kExample.size());
    manual.footer.erase(0, std::min(end + 1, manual.footer.size()));
  }
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) manual.options.push_back(describe(*option));
  }
  // `--help` is the first that the parser knows, and the last that anyone looks for.
  std::stable_partition(manual.options.begin(), manual.options.end(), [](const ManualOption& option) {
    return std::find(option.names.begin(), option.names.end(), "--help") == option.names.end();
  });
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) manual.commands.push_back(describe(*command, manual.name));
  }
  return manual;
}

Manual manual_of(const CLI::App& app) {
  std::string parent;
  for (const CLI::App* above = app.get_parent(); above != nullptr; above = above->get_parent())
    parent = parent.empty() ? above->get_name() : above->get_name() + " " + parent;
  return describe(app, parent);
}

/// Every `--help` says help_text.
class ManualFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    return help_text(manual_of(*app));
  }
};

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

/// What the parser's error says to somebody who typed a command line: the command, what is wrong, what may have been
/// meant, and where to look.
std::string usage_message(const CLI::App& app, const CLI::Error& error) {
  std::string name;
  const CLI::App& command = innermost(app, name);
  const std::string text =
      fmt::format("{}: {}\n`{} --help` says what there is{}", name, what_is_wrong(command, error), name,
                  commands_of(command).empty() ? ", with an example" : "");
  return fmt::format("{}\n", fmt::join(report::wrap(text, report::kColumns), "\n"));
}

/// Digits alone, from `low` to `high`. With a description, help says the range.
CLI::Validator whole_number(std::uint64_t low, std::uint64_t high, const std::string& description) {
  return {[low, high](std::string& text) -> std::string {
            std::uint64_t number = 0;
            const char* const end = text.data() + text.size();
            const auto [parsed, problem] = std::from_chars(text.data(), end, number);
            if (problem == std::errc{} && parsed == end && number >= low && number <= high) return "";
            return fmt::format("`{}` is no whole number from {} to {}", text, low, high);
          },
          description};
}

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

}  // namespace

Option* Option::required() {
  option_->required();
  return this;
}

Option* Option::type_name(const std::string& name) {
  option_->type_name(name);
  return this;
}

Option* Option::check(const Check& check) {
  option_->check([check](const std::string& text) { return check(text); });
  return this;
}

Option* Option::between(std::uint64_t lowest, std::uint64_t highest) {
  option_->check(whole_number(lowest, highest, fmt::format("INT in [{} - {}]", lowest, highest)));
  return this;
}

Option* Option::whole() {
  option_->check(whole_number(0, kMost, ""));
  return this;
}

Option* Option::positive() {
  option_->check(whole_number(1, kMost, ""));
  return this;
}

Option* Option::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return this;
}

Option* Option::capture_default_str() {
  option_->capture_default_str();
  return this;
}

Option* Option::default_str(const std::string& text) {
  option_->default_str(text);
  return this;
}

Option* Option::expected(int least, int most) {
  option_->expected(least, most);
  return this;
}

Option* Option::take_all() {
  option_->take_all();
  return this;
}

Option* Option::excludes(Option* other) {
  option_->excludes(other->option_);
  return this;
}

Option* Option::each(const std::function<void(const std::string&)>& take) {
  option_->each(take);
  return this;
}

Command::Command(const std::string& text, const std::string& name)
    : own_(std::make_unique<CLI::App>(text, name)), app_(own_.get()) {
  app_->formatter(std::make_shared<ManualFormatter>());
  app_->set_help_flag("-h,--help", "show this");
  app_->failure_message(
      [](const CLI::App* app, const CLI::Error& error) { return usage_message(*app, error); });
}

Command::Command(CLI::App& app) : app_(&app) {}

Command::~Command() = default;

Command* Command::add_subcommand(const std::string& name, const std::string& text) {
  return &commands_.emplace_back(*app_->add_subcommand(name, text));
}

template <class T>
Option* Command::add_option(const std::string& names, T& variable, const std::string& text) {
  return &options_.emplace_back(*app_->add_option(names, variable, text));
}

template Option* Command::add_option(const std::string&, std::string&, const std::string&);
template Option* Command::add_option(const std::string&, std::vector<std::string>&, const std::string&);
template Option* Command::add_option(const std::string&, int&, const std::string&);
template Option* Command::add_option(const std::string&, std::optional<int>&, const std::string&);
template Option* Command::add_option(const std::string&, std::vector<int>&, const std::string&);
template Option* Command::add_option(const std::string&, std::uint64_t&, const std::string&);
template Option* Command::add_option(const std::string&, std::optional<std::uint64_t>&, const std::string&);

Option* Command::add_flag(const std::string& names, bool& variable, const std::string& text) {
  return &options_.emplace_back(*app_->add_flag(names, variable, text));
}

Option* Command::find_option(const std::string& name) {
  CLI::Option* option = app_->get_option_no_throw(name);
  return option == nullptr ? nullptr : &options_.emplace_back(*option);
}

void Command::footer(const std::string& text) { app_->footer(text); }

void Command::set_version_flag(const std::string& name, const std::string& version, const std::string& text) {
  app_->set_version_flag(name, version, text);
}

void Command::require_subcommand(int count) { app_->require_subcommand(count); }

void Command::callback(const std::function<void()>& call) { app_->callback(call); }

std::optional<ExitCode> Command::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    // --help and --version arrive here too, with exit code 0.
    return app_->exit(error) == 0 ? ExitCode::done : ExitCode::invalid;
  }
}

Manual Command::manual() const { return manual_of(*app_); }

}  // namespace fheres::cli
