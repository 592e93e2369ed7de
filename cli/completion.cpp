#include "completion.hpp"

#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fheres::cli {
namespace {

using Visit = std::function<void(const Manual&)>;

/// The tool, its commands, their commands.
void each_command(const Manual& manual, const Visit& visit) {
  visit(manual);
  for (const Manual& command : manual.commands) each_command(command, visit);
}

/// Whether nothing can be offered for a value: it is a number.
bool is_number(const ManualOption& option) { return option.value == "N" || option.value == "NUMBER"; }

/// Every path of more than one word, quoted, as the pattern of a shell's `case`.
std::string paths_of(const Manual& manual, const char* between) {
  std::vector<std::string> paths;
  each_command(manual, [&](const Manual& command) {
    if (&command != &manual) paths.push_back(fmt::format("'{}'", command.name));
  });
  return fmt::format("{}", fmt::join(paths, between));
}

/// In single quotes, for any of the shells.
std::string quote(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string words_of(const Manual& command) {
  std::vector<std::string> words;
  for (const Manual& below : command.commands) words.push_back(below.name.substr(command.name.size() + 1));
  for (const ManualOption& option : command.options) {
    if (!option.argument) words.insert(words.end(), option.names.begin(), option.names.end());
  }
  return fmt::format("{}", fmt::join(words, " "));
}

/// The words that a command's argument can be; empty where it can be anything.
std::vector<std::string> argument_choices(const Manual& command) {
  for (const ManualOption& option : command.options) {
    if (option.argument) return option.choices;
  }
  return {};
}

}  // namespace

std::string bash_completion(const Manual& manual) {
  std::string values, words;
  each_command(manual, [&](const Manual& command) {
    for (const ManualOption& option : command.options) {
      if (option.argument || option.value.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) patterns.push_back(quote(command.name + " " + name));
      std::string what = "COMPREPLY=($(compgen -f -- \"$cur\"))";
      if (is_number(option)) what = ":";
      if (!option.choices.empty())
        what = fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$cur\"))", fmt::join(option.choices, " "));
      values += fmt::format("    {}) {}; return ;;\n", fmt::join(patterns, "|"), what);
    }
    const auto choices = argument_choices(command);
    const bool files = command.commands.empty() && choices.empty();
    words += fmt::format("    {}) words='{}{}{}'; files={} ;;\n", quote(command.name), words_of(command),
                         choices.empty() ? "" : " ", fmt::join(choices, " "), files ? 1 : 0);
  });
  return fmt::format(R"(# bash completion of fheres: source it, or keep it where bash-completion looks.
_fheres() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} path=fheres words= files=0 i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${{COMP_WORDS[i]}}" in
      {}) path="$path ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$path $prev" in
{}  esac
  case "$path" in
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  if [[ $files == 1 && $cur != -* ]]; then
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}}
complete -o filenames -F _fheres fheres
)",
                     paths_of(manual, "|"), values, words);
}

std::string zsh_completion(const Manual& manual) {
  // In a specification a colon separates, and brackets hold the text.
  const auto plain = [](std::string text) {
    std::string out;
    for (const char c : text) {
      if (c == ':' || c == '[' || c == ']' || c == '\\') out += '\\';
      out += c;
    }
    return out;
  };
  std::string cases;
  each_command(manual, [&](const Manual& command) {
    cases += fmt::format("    ({})\n", quote(command.name));
    std::string list;
    for (const Manual& below : command.commands)
      list += " " + quote(below.name.substr(command.name.size() + 1) + ":" + below.text);
    if (!list.empty()) cases += fmt::format("      local -a commands=({})\n", list);
    cases += "      _arguments -s";
    for (const ManualOption& option : command.options) {
      const std::string value = option.value.empty() ? ""
                                : !option.choices.empty()
                                    ? fmt::format(":value:({})", fmt::join(option.choices, " "))
                                : is_number(option) ? ":number: "
                                                    : ":value:_files";
      if (option.argument) {
        cases += " " + quote(fmt::format("{}:{}{}", option.repeats ? "*" : "", plain(option.names.front()),
                                         value.substr(value.find(':', 1))));
        continue;
      }
      for (const std::string& name : option.names) {
        cases += " " +
                 quote(fmt::format("{}{}[{}]{}", option.repeats ? "*" : "", name, plain(option.text), value));
      }
    }
    cases += list.empty() ? "\n      ;;\n"
                          : " '1: :->command' && return\n      [[ $state == command ]] && "
                            "_describe command commands\n      ;;\n";
  });
  return fmt::format(R"(#compdef fheres
# zsh completion of fheres: keep it as _fheres in a folder of $fpath.
_fheres() {{
  local path_=fheres state line i depth=1
  for ((i = 2; i < CURRENT; i++)); do
    case "$path_ $words[i]" in
      ({}) path_="$path_ $words[i]"; depth=$i ;;
    esac
  done
  words=("${{(@)words[depth,-1]}}")
  (( CURRENT -= depth - 1 ))
  case "$path_" in
{}  esac
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _fheres "$@"
else
  compdef _fheres fheres
fi
)",
                     paths_of(manual, "|"), cases);
}

std::string fish_completion(const Manual& manual) {
  std::string lines;
  each_command(manual, [&](const Manual& command) {
    const std::string when = fmt::format("complete -c fheres -n \"__fheres_at '{}'\"", command.name);
    for (const Manual& below : command.commands) {
      lines += fmt::format("{} -f -a {} -d {}\n", when, below.name.substr(command.name.size() + 1),
                           quote(below.text));
    }
    for (const ManualOption& option : command.options) {
      if (option.argument) {
        lines += option.choices.empty()
                     ? fmt::format("{} -F\n", when)
                     : fmt::format("{} -f -a '{}'\n", when, fmt::join(option.choices, " "));
        continue;
      }
      std::string line = when;
      for (const std::string& name : option.names)
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.choices.empty()) {
        line += fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
      } else if (!option.value.empty()) {
        line += is_number(option) ? " -x" : " -r -F";
      }
      lines += fmt::format("{} -d {}\n", line, quote(option.text));
    }
  });
  return fmt::format(R"(# fish completion of fheres: keep it as fheres.fish in fish's folder of completions.
function __fheres_at
  set -l path fheres
  for word in (commandline -opc)[2..-1]
    switch "$path $word"
      case {}
        set path "$path $word"
    end
  end
  test "$path" = "$argv[1]"
end
complete -c fheres -f
{})",
                     paths_of(manual, " "), lines);
}

}  // namespace fheres::cli
