#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exit_code.hpp"
#include "manual.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace fheres::cli {

// CLI11 parses the command line. It is headers only, and whoever includes it compiles all of it: a quarter of the
// whole build, when every command did. So parser.cpp is the one file that does, and this is what commands need of it.

/// One option or argument while it is declared; each function returns the option itself.
class Option {
 public:
  /// Why a text is refused, one line; empty where it is taken.
  using Check = std::function<std::string(const std::string&)>;

  explicit Option(CLI::Option& option) : option_(&option) {}

  Option* required();
  /// What help calls its value: `FILE`.
  Option* type_name(const std::string& name);
  Option* check(const Check& check);
  // Whole numbers are written in digits alone: the parser's own conversion takes -1 for 2^64 - 1.
  /// From `lowest` to `highest`, both taken; help says so.
  Option* between(std::uint64_t lowest, std::uint64_t highest);
  Option* whole();
  Option* positive();
  /// One of a few words; help and completion offer them.
  Option* one_of(const std::vector<std::string>& words);
  /// Help says the value that its variable has now.
  Option* capture_default_str();
  /// What it takes where it is given without a value, after `expected(0, 1)`, and what help says.
  Option* default_str(const std::string& text);
  Option* expected(int least, int most);
  /// Every value of an option that is given several times, in order.
  Option* take_all();
  /// Not both.
  Option* excludes(Option* other);
  /// Called with every text that the option is given.
  Option* each(const std::function<void(const std::string&)>& take);

 private:
  CLI::Option* option_;
};

/// A command with its options and its own commands; the outermost is the tool. Its options' variables and callbacks
/// outlive the parsing.
class Command {
 public:
  /// The tool.
  Command(const std::string& text, const std::string& name);
  /// A command of the one that holds `app`.
  explicit Command(CLI::App& app);
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// Lives as long as this.
  Command* add_subcommand(const std::string& name, const std::string& text);
  /// `names` is `-o,--output`, or an argument's name. T: a string, an int, a std::uint64_t, an optional of a number, a
  /// vector of strings or of ints; another is one line more in parser.cpp.
  template <class T>
  Option* add_option(const std::string& names, T& variable, const std::string& text);
  Option* add_flag(const std::string& names, bool& variable, const std::string& text);
  /// Null where there is none of that name.
  Option* find_option(const std::string& name);
  /// Below the options in help. `example: fheres ...` in its first line is the command's example.
  void footer(const std::string& text);
  void set_version_flag(const std::string& name, const std::string& version, const std::string& text);
  /// So many of its commands have to be there.
  void require_subcommand(int count);
  /// Called when the command line names this command, once it is parsed whole.
  void callback(const std::function<void()>& call);

  /// What is to be returned from main, where there is nothing to do: help was asked for and printed, or the line is
  /// wrong and a message says why.
  std::optional<ExitCode> parse(int argc, char** argv);
  /// What this command and those below it say of themselves.
  Manual manual() const;

 private:
  std::unique_ptr<CLI::App> own_;  // of the tool
  CLI::App* app_;
  std::deque<Option> options_;
  std::deque<Command> commands_;
};

}  // namespace fheres::cli
