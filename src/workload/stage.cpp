#include <fheres/base/check.hpp>
#include <fheres/workload/program.hpp>
#include <fheres/workload/stage.hpp>

namespace fheres::workload {
namespace {

constexpr std::string_view kSumSlots = "sum_slots", kPolynomial = "polynomial",
                           kLinearTransform = "linear_transform", kRotateMany = "rotate_many";

}  // namespace

std::optional<Composite> composite_named(std::string_view name) {
  if (name == kSumSlots) return SumSlots{};
  if (name == kPolynomial) return Polynomial{};
  if (name == kLinearTransform) return LinearTransform{};
  return std::nullopt;
}

std::string_view name(const Composite& composite) {
  if (std::holds_alternative<SumSlots>(composite)) return kSumSlots;
  return std::holds_alternative<Polynomial>(composite) ? kPolynomial : kLinearTransform;
}

std::string_view name(const BodyOperation& operation) {
  if (operation.turns) return kRotateMany;
  return operation.composite ? name(*operation.composite) : scheme::name(operation.operation);
}

bool takes_plaintexts(const BodyOperation& operation) {
  if (operation.composite) return std::holds_alternative<LinearTransform>(*operation.composite);
  return scheme::takes_plaintext(operation.operation);
}

residency::Action bind(const NamedAction& action, residency::HandleId handle) {
  switch (action.verb) {
    case NamedAction::Verb::ensure:
      return residency::Ensure{handle, action.at, action.from};
    case NamedAction::Verb::move:
      return residency::Move{handle, action.at, action.from};
    case NamedAction::Verb::drop:
      return residency::Drop{handle, action.at};
  }
  FHERES_CHECK(false);
}

std::vector<residency::Action> bind_all(const std::vector<NamedAction>& actions,
                                        std::span<const residency::HandleId> handles) {
  std::vector<residency::Action> bound;
  for (const NamedAction& action : actions) bound.push_back(bind(action, handles[action.value]));
  return bound;
}

std::vector<residency::Action> bind_prefetch(const std::vector<NamedAction>& actions,
                                             std::span<const residency::HandleId> handles) {
  std::vector<residency::Action> bound;
  for (const NamedAction& action : actions)
    bound.push_back(residency::Ensure{handles[action.value], action.at, action.from, true});
  return bound;
}

std::vector<residency::ValuePlace> bind_reads(const std::vector<Requirement>& requirements,
                                              std::span<const residency::HandleId> handles) {
  std::vector<residency::ValuePlace> bound;
  for (const Requirement& item : requirements) bound.push_back({handles[item.value], item.at});
  return bound;
}

residency::Plan plan_of(const ProgramStage& stage, std::span<const residency::HandleId> handles) {
  residency::Plan plan;
  plan.name = stage.name.text;
  plan.reclaim = bind_all(stage.reclaim, handles);
  for (const Reservation& reservation : stage.reserve) plan.reservations.push_back(reservation.spec);
  plan.enter = bind_all(stage.enter, handles);
  plan.prefetch = bind_prefetch(stage.prefetch, handles);
  for (const Produced& item : stage.produce)
    plan.produce.push_back({handles[item.value], item.at, item.from});
  for (const Carved& block : stage.workspace) plan.workspace.push_back({block.from, block.bytes});
  plan.exit = bind_all(stage.exit, handles);
  plan.reads = bind_reads(stage.require, handles);
  return plan;
}

}  // namespace fheres::workload
