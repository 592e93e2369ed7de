#pragma once

#include <functional>

#include "exit_code.hpp"
#include "parser.hpp"

namespace fheres::cli {

/// What a parsed command does. Set by exactly one subcommand's callback, run by main.
using Action = std::function<ExitCode()>;

// Each adds one subcommand, with its own options and an example in its help. cmd_<name>.cpp holds it.
void add_validate(Command& app, Action& action);
void add_explain(Command& app, Action& action);
void add_explain_code(Command& app, Action& action);
void add_decide(Command& app, Action& action);
void add_compile(Command& app, Action& action);
void add_diff(Command& app, Action& action);
void add_fit(Command& app, Action& action);
void add_verify(Command& app, Action& action);
void add_run(Command& app, Action& action);
void add_trace(Command& app, Action& action);
void add_params(Command& app, Action& action);
void add_calibrate(Command& app, Action& action);
void add_devices(Command& app, Action& action);
void add_keys(Command& app, Action& action);
void add_client(Command& app, Action& action);
void add_init(Command& app, Action& action);
void add_schema(Command& app, Action& action);
/// `completion` and `man` say what the parser knows once all commands are there.
void add_completion(Command& app, Action& action);
void add_man(Command& app, Action& action);

}  // namespace fheres::cli
