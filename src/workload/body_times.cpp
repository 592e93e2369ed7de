#include <algorithm>
#include <span>

#include <fheres/base/check.hpp>
#include <fheres/workload/body_times.hpp>

namespace fheres::workload {
namespace {

/// One of several rotations of one ciphertext.
constexpr const char* kTurn = "rotate_many";
/// What each group of output limbs adds to a key switch, as a part of the whole one: measured on an NVIDIA H200 with groups of
/// 2 to 16 limbs of 39 (bench/README.md).
constexpr double kGroup = 0.04;
/// A linear transform's steps, as parts of operations that are timed: a baby step of a rotation among several, a diagonal of
/// a product by a plaintext, and what it does once of a rotation. Fitted to transforms of 64 diagonals in 8 baby steps and
/// of 128 in 32 on an NVIDIA H200 (bench/README.md); right to 4 % there.
constexpr double kBaby = 0.47, kDiagonal = 0.25, kOnce = 0.75;

class BodyTimes {
 public:
  BodyTimes(const World& world, const Stage& stage, const Machine& machine)
      : world_(world), stage_(stage), machine_(machine), parameters_(*world.parameters) {}

  std::vector<std::optional<double>> run() const {
    std::vector<std::optional<double>> times;
    for (const BodyOperation& operation : stage_.body) times.push_back(time(operation));
    return times;
  }

 private:
  std::optional<double> time(const BodyOperation& operation) const {
    if (operation.transform) return of_transform(operation);
    if (operation.turns) {
      const auto shared = lookup(kTurn, level_of(operation.operands.front()));
      if (shared) return *shared * in_groups(level_of(operation.operands.front()));
    }
    if (!operation.circuit)
      return lookup(operation.operation, operation.key.has_value(), level_of(operation.operands.front()));
    const scheme::Circuit& circuit = *operation.circuit;
    double sum = 0;
    for (const scheme::Circuit::Step& step : circuit.steps()) {
      const auto ns =
          lookup(step.operation, step.key != scheme::Circuit::kNone, circuit.type(step.operands[0]).level);
      if (!ns) return std::nullopt;
      sum += *ns;
    }
    return sum;
  }

  /// Its baby steps share one decomposition and are not divided by P; its giant steps are rotations.
  std::optional<double> of_transform(const BodyOperation& operation) const {
    const int level = level_of(operation.operands.front());
    const auto rotation = lookup(timed_name(scheme::Operation::rotate, true), level);
    auto turn = lookup(kTurn, level);
    if (!turn) turn = rotation;
    const auto product = lookup(scheme::Operation::multiply_plain, false, level);
    if (!rotation || !turn || !product) return std::nullopt;
    const auto turns = [](std::span<const int> steps) {
      return static_cast<double>(steps.size()) -
             static_cast<double>(std::count(steps.begin(), steps.end(), 0));
    };
    const scheme::LinearTransform& transform = *operation.transform;
    return *rotation * (kOnce + turns(transform.giants())) + *turn * kBaby * turns(transform.babies()) +
           *product * kDiagonal * static_cast<double>(transform.diagonals().size());
  }

  int level_of(const Operand& operand) const {
    if (operand.from == Operand::From::result) return stage_.body[operand.index].type.level;
    const Value& value = world_.values[operand.index];
    FHERES_CHECK(value.type.has_value());
    return value.type->level;
  }

  std::optional<double> lookup(scheme::Operation operation, bool has_key, int level) const {
    const auto ns = lookup(timed_name(operation, has_key), level);
    return ns && has_key ? std::optional(*ns * in_groups(level)) : ns;
  }

  /// How much longer a key switch takes in groups of output limbs: P's, then Q's.
  double in_groups(int level) const {
    const int g = stage_.key_switch_group;
    const int l = parameters_.limbs(level), k = static_cast<int>(parameters_.p().size());
    if (g == 0 || g >= std::max(k, l)) return 1;
    return 1 + kGroup * ((k + g - 1) / g + (l + g - 1) / g);
  }

  std::optional<double> lookup(const std::string& name, int level) const {
    const OperationTimes* times = machine_.operation(parameters_.name(), name);
    if (times == nullptr || parameters_.name().empty()) times = machine_.operation(parameters_.id(), name);
    return times == nullptr ? std::nullopt : std::optional(times->ns(level));
  }

  const World& world_;
  const Stage& stage_;
  const Machine& machine_;
  const scheme::Parameters& parameters_;
};

}  // namespace

std::string timed_name(scheme::Operation operation, bool has_key) {
  std::string name(scheme::name(operation));
  if (has_key && scheme::key_use(operation) == scheme::KeyUse::optional) name += "+key";
  return name;
}

std::vector<std::optional<double>> body_times(const World& world, const Stage& stage,
                                              const Machine& machine) {
  if (stage.body.empty()) return {};
  return BodyTimes(world, stage, machine).run();
}

}  // namespace fheres::workload
