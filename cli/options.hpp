#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fheres/base/bytes.hpp>
#include <fheres/memory/location.hpp>

#include "parser.hpp"

namespace fheres::cli {

/// What every command takes.
struct CommonOptions {
  bool json = false;   // one object on stdout, messages on stderr
  bool quiet = false;  // no text on stdout; the exit code says it
  std::string color = "auto";
  std::string format = "text";  // or json, junit, sarif
};

/// What commands that read a document for planning take.
struct PlanningOptions {
  std::vector<std::string> budgets;  // LOCATION=SIZE, over the document's
  std::uint64_t search_state_limit = 200'000;
  bool allow_outside = false;
};

void add_common(Command& command, CommonOptions& options);
/// `--format`, for commands whose answer has parts that pass or fail. Call it before add_common.
void add_format(Command& command, CommonOptions& options);
void add_planning(Command& command, PlanningOptions& options);
/// Of those, what matters to a command that reads a document and plans nothing.
void add_reading(Command& command, PlanningOptions& options);

/// For options and arguments that are the name of a file: refuses an empty one, which a variable that is not set gives.
Option* names_file(Option* option, const char* word = "FILE");

/// The budgets of `--budget cuda:0=24GiB`, checked when the options are parsed.
std::map<memory::Location, Bytes> budgets_of(const PlanningOptions& options);

/// Whether stderr takes colour: `always`, or a terminal with neither NO_COLOR nor `never`.
bool use_color(const CommonOptions& options);

}  // namespace fheres::cli
