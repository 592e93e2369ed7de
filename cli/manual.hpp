#pragma once

#include <string>
#include <vector>

namespace fheres::cli {

/// One option or argument, as every text about it says it.
struct ManualOption {
  std::vector<std::string> names;    // `-q`, `--quiet`; of an argument its name alone
  std::string value;                 // `FILE`, `N`, `auto|always|never`; empty for a flag
  std::vector<std::string> choices;  // where it takes one of a few words
  std::string text;                  // one sentence, with the default where there is one
  bool argument = false;             // stands for itself, without a dash
  bool required = false;
  bool repeats = false;
};

/// One command. Help, the man page and the completions are written from this and nothing else.
struct Manual {
  std::string name;  // `fheres client keygen`
  std::string text;
  std::string footer;   // of the tool itself: what does not fit anywhere else
  std::string example;  // `fheres explain plans/two-tiles.yaml`, where the footer gives one
  std::vector<ManualOption> options;
  std::vector<Manual> commands;
};

/// What `--help` says: lines of at most report::kColumns.
std::string help_text(const Manual& manual);
/// The whole tool as one roff page of section 1.
std::string man_page(const Manual& manual, const std::string& version);

}  // namespace fheres::cli
