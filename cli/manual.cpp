#include "manual.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fheres/report/table.hpp>

namespace fheres::cli {
namespace {

constexpr std::string_view kExample = "example: ";

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

}  // namespace

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

}  // namespace fheres::cli
