#include <cctype>
#include <map>

#include <fmt/format.h>

#include <fheres/documents/emit.hpp>

namespace fheres::documents {
namespace {

using workload::Location;
using workload::NamedAction;
using workload::Program;
using workload::ProgramStage;
using workload::Value;
using workload::World;

/// Plain where every reader takes it as the same text, else in double quotes.
std::string scalar(std::string_view text) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  bool plain = !text.empty() && letter(text.front());
  for (const char c : text) {
    if (!letter(c) && std::isdigit(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-' && c != '/')
      plain = false;
  }
  // YAML 1.1 readers take some words for something else.
  for (const std::string_view word : {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}) {
    bool same = word.size() == text.size();
    for (std::size_t i = 0; same && i < word.size(); ++i)
      same = std::tolower(static_cast<unsigned char>(text[i])) == word[i];
    if (same) plain = false;
  }
  if (plain) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

class Writer {
 public:
  Writer(const Program& program, const std::string& schema) : program_(program), world_(program.world) {
    if (!schema.empty()) line("# yaml-language-server: $schema={}", schema);
  }

  std::string run() {
    line("apiVersion: fheres/v1");
    line("kind: Plan");
    head();
    if (program_.workload) {
      line("workload: {{file: {}, sha256: {}}}", scalar(program_.workload->file),
           scalar(program_.workload->sha256));
    }
    locations();
    peers();
    values();
    line("stages:");
    for (const ProgramStage& stage : program_.stages) write(stage);
    if (program_.evidence) write(*program_.evidence);
    return std::move(text_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  void head() {
    const std::string& description = program_.metadata.description;
    if (description.empty()) {
      line("metadata: {{name: {}}}", scalar(program_.metadata.name.text));
    } else {
      line("metadata:");
      line("  name: {}", scalar(program_.metadata.name.text));
      line("  description: {}", scalar(description));
    }
  }

  void locations() {
    if (world_.locations.empty()) return;
    line("locations:");
    for (const workload::LocationEntry& entry : world_.locations) {
      if (entry.budget) {
        line("  {}: {{budget: {}}}", entry.at.name(), *entry.budget);
      } else {
        line("  {}: {{}}", entry.at.name());
      }
    }
  }

  void peers() {
    if (world_.peers.empty()) return;
    std::string list;
    for (const auto& [a, b] : world_.peers)
      list += fmt::format("{}[{}, {}]", list.empty() ? "" : ", ", a.name(), b.name());
    line("machine: {{peers: [{}]}}", list);
  }

  void values() {
    bool first = true;
    for (const Value& value : world_.values) {
      if (value.produced_by) continue;
      if (std::exchange(first, false)) line("values:");
      std::string rest;
      if (value.at.size() == 1) {
        rest += fmt::format(", at: {}", value.at.front().name());
      } else if (!value.at.empty()) {
        std::string list;
        for (const Location at : value.at) list += fmt::format("{}{}", list.empty() ? "" : ", ", at.name());
        rest += fmt::format(", at: [{}]", list);
      }
      if (value.spec.replica_mode == residency::ReplicaMode::exclusive) rest += ", replica: exclusive";
      if (value.source) rest += fmt::format(", source: {{at: {}}}", value.source->name());
      if (value.backing) rest += fmt::format(", backing: {}", name(*value.backing));
      if (!value.variant.empty()) rest += fmt::format(", variant: {}", scalar(value.variant));
      line("  {}: {{bytes: {}{}}}", scalar(value.name.text), value.spec.logical_bytes, rest);
    }
  }

  std::string name(workload::ValueIndex value) const { return scalar(world_.values[value].name.text); }

  std::string action(const NamedAction& action) const {
    const std::string from = action.from ? fmt::format(", from: {}", action.from->name()) : std::string();
    switch (action.verb) {
      case NamedAction::Verb::ensure:
        return fmt::format("{{ensure: {}, at: {}{}}}", name(action.value), action.at.name(), from);
      case NamedAction::Verb::move:
        return fmt::format("{{move: {}, to: {}{}}}", name(action.value), action.at.name(), from);
      case NamedAction::Verb::drop:
        break;
    }
    return fmt::format("{{drop: {}, at: {}}}", name(action.value), action.at.name());
  }

  void list(const char* key, const std::vector<std::string>& items) {
    if (items.empty()) return;
    if (items.size() == 1) {
      line("    {}: [{}]", key, items.front());
      return;
    }
    line("    {}:", key);
    for (const std::string& item : items) line("      - {}", item);
  }

  void actions(const char* key, const std::vector<NamedAction>& actions) {
    std::vector<std::string> items;
    for (const NamedAction& item : actions) items.push_back(action(item));
    list(key, items);
  }

  void write(const ProgramStage& stage) {
    line("  - name: {}", scalar(stage.name.text));
    if (!stage.variant.empty()) line("    variant: {}", scalar(stage.variant));
    actions("reclaim", stage.reclaim);
    std::vector<std::string> items;
    for (const workload::Reservation& item : stage.reserve) {
      items.push_back(fmt::format("{{at: {}, bytes: {}, label: {}}}", item.spec.at.name(), item.spec.bytes,
                                  scalar(item.spec.label)));
    }
    list("reserve", items);
    actions("enter", stage.enter);
    actions("prefetch", stage.prefetch);
    require(stage);
    items.clear();
    for (const workload::Carved& block : stage.workspace) {
      items.push_back(
          fmt::format("{{from: {}, bytes: {}}}", scalar(stage.reserve[block.from].spec.label), block.bytes));
    }
    list("workspace", items);
    items.clear();
    for (const workload::Produced& item : stage.produce) {
      items.push_back(fmt::format("{{{}: {{bytes: {}, at: {}, from: {}}}}}", name(item.value),
                                  world_.values[item.value].spec.logical_bytes, item.at.name(),
                                  scalar(stage.reserve[item.from].spec.label)));
    }
    list("produce", items);
    actions("exit", stage.exit);
    std::string names;
    for (const workload::Operand& item : stage.release)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name(item.index));
    if (!names.empty()) line("    release: [{}]", names);
  }

  void require(const ProgramStage& stage) {
    std::map<Location, std::string> names;
    for (const workload::Requirement& item : stage.require) {
      std::string& list = names[item.at];
      list += fmt::format("{}{}", list.empty() ? "" : ", ", name(item.value));
    }
    std::string text;
    for (const auto& [at, list] : names)
      text += fmt::format("{}{}: [{}]", text.empty() ? "" : ", ", at.name(), list);
    if (!text.empty()) line("    require: {{{}}}", text);
  }

  void write(const workload::Evidence& evidence) {
    line("evidence:");
    line("  method: {}", scalar(evidence.method));
    line("  minimize: {}", scalar(evidence.minimize));
    line("  moved_bytes: {}", evidence.moved_bytes);
    line("  lower_bound_bytes: {}", evidence.lower_bound_bytes);
    if (const auto gap = evidence.gap()) line("  gap: {:.6f}", *gap);
    line("  optimal: {}", evidence.optimal() ? "proven" : "not proven");
    line("  bound: {}", scalar(evidence.bound));
    line("  nodes: {}", evidence.nodes);
    line("  compactions: {}", evidence.compactions);
    line("  compacted_bytes: {}", evidence.compacted_bytes);
    if (!evidence.peaks.empty()) line("  peaks:");
    for (const workload::PeakEvidence& peak : evidence.peaks) {
      const std::string stage = peak.stage.empty() ? "" : fmt::format(", stage: {}", scalar(peak.stage));
      line("    {}: {{bytes: {}{}}}", peak.at.name(), peak.bytes, stage);
    }
    if (evidence.time) {
      line("  time: {{machine: {}, predicted_ns: {}, lower_bound_ns: {}}}", scalar(evidence.time->machine),
           evidence.time->predicted_ns, evidence.time->lower_bound_ns);
    }
    if (evidence.variants.empty()) return;
    line("  selections: {}", evidence.selections);
    line("  variants:");
    for (const workload::VariantEvidence& item : evidence.variants) write(item);
  }

  void write(const workload::VariantEvidence& item) {
    std::string others;
    for (const workload::VariantEvidence::Instead& other : item.instead) {
      others += fmt::format("{}{}: {{lower_bound_bytes: {}", others.empty() ? "" : ", ",
                            scalar(other.variant), other.lower_bound_bytes);
      if (other.moved_bytes) others += fmt::format(", moved_bytes: {}", *other.moved_bytes);
      if (other.predicted_ns) others += fmt::format(", predicted_ns: {}", *other.predicted_ns);
      if (!other.reason.empty()) others += fmt::format(", reason: {}", scalar(other.reason));
      others += '}';
    }
    line("    - {{{}: {}, chosen: {}, instead: {{{}}}}}",
         item.about == workload::Question::About::value ? "value" : "stage", scalar(item.name),
         scalar(item.chosen), others);
  }

  const Program& program_;
  const World& world_;
  std::string text_;
};

}  // namespace

std::string emit(const workload::Program& program, const std::string& schema) {
  return Writer(program, schema).run();
}

}  // namespace fheres::documents
