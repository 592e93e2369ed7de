#include "options.hpp"

#include <cstdlib>
#include <variant>

#include <fmt/format.h>
#include <unistd.h>

namespace fheres::cli {
namespace {

using Budget = std::pair<memory::Location, Bytes>;

/// Or why it is none.
std::variant<Budget, std::string> parse_budget(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    return fmt::format("`{}` is not LOCATION=SIZE, for example cuda:0=24GiB", text);
  }
  const std::string name = text.substr(0, equals);
  const auto at = memory::Location::from_name(name);
  if (!at) {
    return fmt::format("`{}` is no location; expected pageable-host, pinned-host or cuda:0 to cuda:127",
                       name);
  }
  const auto bytes = parse_bytes(std::string_view(text).substr(equals + 1));
  if (const auto* bad = std::get_if<BadBytes>(&bytes)) return bad->reason;
  return Budget(*at, std::get<Bytes>(bytes));
}

}  // namespace

void add_common(Command& command, CommonOptions& options) {
  Option* json = command.add_flag("--json", options.json, "one JSON object on stdout, messages on stderr");
  if (Option* format = command.find_option("--format")) json->excludes(format);
  command.add_flag("--quiet,-q", options.quiet, "no text on stdout");
  command
      .add_option("--color", options.color, "colour of messages; auto: on a terminal, unless NO_COLOR is set")
      ->one_of({"auto", "always", "never"})
      ->capture_default_str();
}

void add_format(Command& command, CommonOptions& options) {
  command
      .add_option(
          "--format", options.format,
          "what goes to stdout: text, json (as --json), junit (a test case a stage), sarif (a result a "
          "finding)")
      ->one_of({"text", "json", "junit", "sarif"})
      ->capture_default_str()
      ->each([&options](const std::string& format) { options.json = format == "json"; });
}

void add_planning(Command& command, PlanningOptions& options) {
  command
      .add_option("--budget", options.budgets,
                  "LOCATION=SIZE, for example cuda:0=24GiB; over the document's budget; repeatable")
      ->type_name("BUDGET")
      ->check([](const std::string& text) {
        const auto budget = parse_budget(text);
        const auto* bad = std::get_if<std::string>(&budget);
        return bad != nullptr ? *bad : std::string();
      })
      ->take_all();
  command
      .add_option("--search-state-limit", options.search_state_limit,
                  "states that a decision may explore before it is inconclusive")
      ->positive()
      ->capture_default_str();
  add_reading(command, options);
}

void add_reading(Command& command, PlanningOptions& options) {
  command.add_flag("--allow-outside", options.allow_outside,
                   "let a document name files outside of its own folder");
}

Option* names_file(Option* option, const char* word) {
  return option->type_name(word)->check(
      [](const std::string& text) { return std::string(text.empty() ? "the name is empty" : ""); });
}

std::map<memory::Location, Bytes> budgets_of(const PlanningOptions& options) {
  std::map<memory::Location, Bytes> budgets;
  for (const std::string& text : options.budgets) {
    const auto [at, bytes] = std::get<Budget>(parse_budget(text));
    budgets.insert_or_assign(at, bytes);
  }
  return budgets;
}

bool use_color(const CommonOptions& options) {
  if (options.color != "auto") return options.color == "always";
  return std::getenv("NO_COLOR") == nullptr && isatty(STDERR_FILENO) == 1;
}

}  // namespace fheres::cli
