#include <memory>

#include <fheres/report/rehearsal_json.hpp>
#include <fheres/report/text.hpp>

#include "answer.hpp"
#include "document.hpp"

namespace fheres::cli {
namespace {

std::string text_of(const documents::Model&, const workload::Rehearsal& rehearsal) {
  return report::decisions_text(rehearsal);
}

constexpr Answer kDecide{"fheres decide", text_of, report::decisions_json};

ExitCode decide(const AnswerOptions& options) {
  const auto model = load_or_report(options.file, options.planning, options.common);
  if (!model) return ExitCode::invalid;
  if (std::holds_alternative<workload::Program>(*model))
    return refuse_kind(options.file, *model, "is decided already; `fheres explain` answers for it",
                       options.common);
  return answer(kDecide, options, *model);
}

}  // namespace

void add_decide(Command& app, Action& action) {
  auto options = std::make_shared<AnswerOptions>();
  Command* command = app.add_subcommand(
      "decide",
      "the controller's decisions for a Request (or a Workload's stages): victims, reasons, states, plan");
  names_file(command->add_option("file", options->file, "a document of kind Request or Workload"))
      ->required();
  add_answer_options(*command, *options);
  command->footer("example: fheres decide samples/automatic-rotate-scale.request.yaml");
  command->callback([options, &action] { action = [options] { return decide(*options); }; });
}

}  // namespace fheres::cli
