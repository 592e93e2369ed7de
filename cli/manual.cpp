#include "manual.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fheres/report/table.hpp>

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

std::string title_of(const ManualOption& option) {
  if (option.argument) return option.names.front();
  std::string title = fmt::format("{}", fmt::join(option.names, ", "));
  return option.value.empty() ? title : title + " " + option.value;
}

std::string usage_of(const Manual& manual) {
  std::string usage = manual.name;
  if (!manual.commands.empty()) return usage + " COMMAND";
  usage += " [options]";
  for (const ManualOption& option : manual.options) {
    if (!option.required && !option.argument) continue;
    std::string text = title_of(option);
    if (option.argument && option.repeats) text += "...";
    usage += option.required ? " " + text : fmt::format(" [{}]", text);
  }
  return usage;
}

/// Entries with a text each: titles in a column of their own, the text beside or, after a long title, below.
struct Entries {
  std::vector<std::pair<std::string, std::string>> list;

  std::string render() const {
    constexpr std::size_t kIndent = 2, kWidest = 26;
    std::size_t width = 0;
    for (const auto& [title, text] : list) {
      if (title.size() <= kWidest) width = std::max(width, title.size());
    }
    const std::size_t at = kIndent + width + 2;
    std::string out;
    for (const auto& [title, text] : list) {
      std::string line = std::string(kIndent, ' ') + title;
      if (title.size() > width) {
        out += line + "\n";
        line.clear();
      }
      for (const std::string& part : report::wrap(text, report::kColumns - at)) {
        out += fmt::format("{:<{}}{}\n", line, at, part);
        line.clear();
      }
    }
    return out;
  }
};

std::string paragraph(const std::string& text) {
  std::string out;
  for (const std::string& line : report::wrap(text, report::kColumns)) out += line + "\n";
  return out;
}

Entries entries_of(const Manual& manual, bool arguments) {
  Entries entries;
  for (const ManualOption& option : manual.options) {
    if (option.argument == arguments) entries.list.emplace_back(title_of(option), option.text);
  }
  return entries;
}

/// Text that roff takes for what it is.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) {
      out += std::string("\\&") + c;
    } else {
      out += c;
    }
  }
  return out;
}

void add_command(std::string& page, const Manual& manual) {
  if (!manual.commands.empty()) {
    for (const Manual& command : manual.commands) add_command(page, command);
    return;
  }
  page += fmt::format(".SS {}\n{}\n.PP\n.B {}\n", roff(manual.name.substr(manual.name.find(' ') + 1)),
                      roff(manual.text), roff(usage_of(manual)));
  for (const ManualOption& option : manual.options) {
    page += fmt::format(".TP\n.B {}\n{}\n", roff(title_of(option)), roff(option.text));
  }
  if (!manual.example.empty())
    page += fmt::format(".PP\nExample:\n.PP\n.EX\n{}\n.EE\n", roff(manual.example));
}

class ManualFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    return help_text(manual_of(*app));
  }
};

}  // namespace

Manual manual_of(const CLI::App& app) {
  std::string parent;
  for (const CLI::App* above = app.get_parent(); above != nullptr; above = above->get_parent())
    parent = parent.empty() ? above->get_name() : above->get_name() + " " + parent;
  return describe(app, parent);
}

std::string help_text(const Manual& manual) {
  std::string text = paragraph(manual.text) + "\n" + paragraph("usage: " + usage_of(manual));
  const auto section = [&](const char* title, const Entries& entries) {
    if (!entries.list.empty()) text += fmt::format("\n{}{}", title, entries.render());
  };
  section("", entries_of(manual, true));
  Entries commands;
  for (const Manual& command : manual.commands)
    commands.list.emplace_back(command.name.substr(manual.name.size() + 1), command.text);
  section("commands:\n", commands);
  section("options:\n", entries_of(manual, false));
  if (!manual.footer.empty()) text += "\n" + paragraph(manual.footer);
  if (!manual.example.empty()) text += "\n" + paragraph(std::string(kExample) + manual.example);
  return text;
}

std::string man_page(const Manual& manual, const std::string& version) {
  std::string page = fmt::format(".TH FHERES 1 \"\" \"fheres {}\" \"User commands\"\n", roff(version));
  page += fmt::format(".SH NAME\nfheres \\- {}\n", roff(manual.text));
  page += fmt::format(".SH SYNOPSIS\n.B {}\n[options] ...\n", roff(usage_of(manual)));
  page += ".SH COMMANDS\n";
  for (const Manual& command : manual.commands) add_command(page, command);
  page += ".SH OPTIONS\n";
  for (const ManualOption& option : manual.options)
    page += fmt::format(".TP\n.B {}\n{}\n", roff(title_of(option)), roff(option.text));
  page += fmt::format(".SH NOTES\n{}\n", roff(manual.footer));
  return page;
}

void use_manual(CLI::App& app) {
  app.formatter(std::make_shared<ManualFormatter>());
  app.set_help_flag("-h,--help", "show this");
}

}  // namespace fheres::cli
