#include <fheres/residency/action.hpp>
#include <fheres/residency/plan.hpp>

namespace fheres::residency {

HandleId value_of(const Action& action) {
  return std::visit([](const auto& a) { return a.value; }, action);
}

const char* verb_of(const Action& action) {
  static constexpr const char* verbs[] = {"ensure", "move", "drop", "discard"};
  return verbs[action.index()];
}

std::optional<Location> location_of(const Action& action) {
  if (const auto* ensure = std::get_if<Ensure>(&action)) return ensure->at;
  if (const auto* move = std::get_if<Move>(&action)) return move->to;
  if (const auto* drop = std::get_if<Drop>(&action)) return drop->at;
  return std::nullopt;
}

const char* name(Phase phase) {
  static constexpr const char* names[] = {"execute", "reclaim", "reserve", "enter", "prefetch", "exit"};
  return names[static_cast<std::size_t>(phase)];
}

}  // namespace fheres::residency
