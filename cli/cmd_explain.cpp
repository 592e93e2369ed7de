#include <memory>

#include <fmt/format.h>

#include <fheres/report/compile_report.hpp>
#include <fheres/report/rehearsal_json.hpp>
#include <fheres/report/text.hpp>
#include <fheres/workload/binding.hpp>

#include "answer.hpp"
#include "document.hpp"

namespace fheres::cli {
namespace {

std::string text_of(const documents::Model& model, const workload::Rehearsal& rehearsal) {
  std::string title = name_of(model);
  if (const auto* workload = std::get_if<workload::Workload>(&model)) {
    title += fmt::format(": answered for the policy {}", workload::policy_of(workload->world).identity());
  }
  std::string text = title + "\n\n" + report::rehearsal_text(rehearsal);
  const auto* program = std::get_if<workload::Program>(&model);
  if (program != nullptr && program->evidence && program->evidence->moved_bytes == rehearsal.moved_bytes) {
    text +=
        fmt::format("compiled: {} ({})\n", report::gap_text(*program->evidence), program->evidence->method);
  }
  return text;
}

constexpr Answer kExplain{"fheres explain", text_of, report::explanation_json};

ExitCode explain(const AnswerOptions& options) {
  const auto model = load_or_report(options.file, options.planning, options.common);
  return model ? answer(kExplain, options, *model) : ExitCode::invalid;
}

}  // namespace

void add_explain(Command& app, Action& action) {
  auto options = std::make_shared<AnswerOptions>();
  Command* command = app.add_subcommand(
      "explain",
      "dry run of a Plan, Request or Workload: each action, each peak, feasible or why not; needs no GPU");
  names_file(command->add_option("file", options->file, "the document"))->required();
  add_answer_options(*command, *options);
  command->footer("example: fheres explain plans/two-tiles.yaml --budget cuda:0=38MiB");
  command->callback([options, &action] { action = [options] { return explain(*options); }; });
}

}  // namespace fheres::cli
