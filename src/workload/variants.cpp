#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fheres/base/check.hpp>
#include <fheres/workload/variants.hpp>

#include "names.hpp"
#include "open_draft.hpp"
#include "world.hpp"

namespace fheres::workload {
namespace {

constexpr std::string_view kFull = "full", kSeeded = "seeded", kPrepared = "prepared", kCompact = "compact",
                           kEncoded = "encoded", kWhole = "whole", kByLevel = "-by-level",
                           kGroups = "groups-of-";
/// Group sizes that are looked at: of those only the ones that need less than the larger ones do.
constexpr std::array<int, 4> kGroupSizes{8, 4, 2, 1};

std::string level_name(const std::string& key, int level) { return fmt::format("{}.level-{}", key, level); }

std::string group_name(int limbs) { return fmt::format("{}{}", kGroups, limbs); }
int group_of(std::string_view variant) {
  if (!variant.starts_with(kGroups)) return 0;
  int limbs = 0;
  std::from_chars(variant.data() + kGroups.size(), variant.data() + variant.size(), limbs);
  return limbs;
}

/// One draft with every answer in it.
class Answers {
 public:
  explicit Answers(const OpenDraft& open) : draft_(open.draft), open_(open) {}

  void answer(std::size_t question, Question::About about, std::string_view variant) {
    const std::size_t index = open_.about[question];
    if (about == Question::About::stage) {
      draft_.stages[index].key_switch_group = group_of(variant);
      return;
    }
    ValueDraft& value = draft_.world.values[index];
    value.seeded = variant.starts_with(kSeeded);
    value.variant = variant;
    value.compact = variant == kCompact;
    if (variant == kEncoded) {
      const Location at = value.at.empty() ? Location::pageable_host() : value.at.front();
      value.source = at.is_host() ? at : Location::pageable_host();
      value.at.clear();
      value.at_places.clear();
    }
    if (variant.ends_with(kByLevel)) split(index, open_.uses[question]);
  }

  CheckedWorkload check() const { return check_as_it_is(draft_); }

 private:
  /// The key stays for its freshest level and for operations that find their keys themselves.
  void split(std::size_t index, const std::vector<OpenDraft::Use>& uses) {
    std::set<int> levels;
    for (const OpenDraft::Use& use : uses) {
      const std::string name = level_name(open_.draft.world.values[index].name.text, use.level);
      OperationDraft& operation = draft_.stages[use.stage].body[use.operation];
      operation.key = Name{name, operation.key ? operation.key->place : operation.operation.place};
      if (!levels.insert(use.level).second) continue;
      ValueDraft key = draft_.world.values[index];
      key.name.text = name;
      key.level = use.level;
      key.stable_key.reset();
      draft_.world.values.push_back(std::move(key));
    }
    // It goes where the key goes.
    const std::string& whole = open_.draft.world.values[index].name.text;
    for (StageDraft& stage : draft_.stages) {
      const auto released = std::find_if(stage.release.begin(), stage.release.end(),
                                         [&](const Name& name) { return name.text == whole; });
      if (released == stage.release.end()) continue;
      const Place place = released->place;
      for (const int level : levels) stage.release.push_back({level_name(whole, level), place});
    }
  }

  WorkloadDraft draft_;
  const OpenDraft& open_;
};

/// Writes down which question each value belongs to, and which variant values and stages have.
void mark(Workload& workload, const OpenDraft& open, const Selection& selection) {
  std::map<std::string_view, std::size_t>
      owners;  // names under which clients make what belongs to a question
  std::vector<std::string> names;
  for (std::size_t q = 0; q < open.about.size(); ++q)
    for (const OpenDraft::Use& use : open.uses[q])
      names.push_back(level_name(workload.questions[q].name.text, use.level));
  // Drafts that are made of others have theirs as well.
  for (Value& value : workload.world.values) value.variant.clear();
  std::size_t next = 0;
  for (std::size_t q = 0; q < open.about.size(); ++q) {
    const Question& question = workload.questions[q];
    const std::string& variant = question.variants[selection[q]];
    if (question.about == Question::About::stage) {
      workload.stages[open.about[q]].variant = variant;
      continue;
    }
    workload.world.values[open.about[q]].variant = variant;
    owners.emplace(question.name.text, q);
    for (std::size_t i = 0; i < open.uses[q].size(); ++i) owners.emplace(names[next++], q);
  }
  for (Value& value : workload.world.values) {
    if (value.produced_by) continue;
    if (const auto owner = owners.find(value.client_name); owner != owners.end())
      value.question = owner->second;
  }
}

/// Finds the questions of a draft.
class Asker {
 public:
  Asker(const WorkloadDraft& draft, Workload& workload)
      : draft_(draft), workload_(workload), open_(std::make_shared<OpenDraft>()) {}

  void run() {
    const auto& values = draft_.world.values;
    const bool values_are_open = std::any_of(
        values.begin(), values.end(), [](const ValueDraft& v) { return v.choose_form || v.choose_level; });
    const bool stages_are_open = std::any_of(draft_.stages.begin(), draft_.stages.end(),
                                             [](const StageDraft& s) { return s.choose_key_switch; });
    if (!values_are_open && !stages_are_open) return;
    for (const Value& value : workload_.world.values) names_.insert(value.name.text);
    for (const Stage& stage : workload_.stages)
      for (const BodyOperation& operation : stage.body) names_.insert(operation.result.text);
    if (values_are_open) {
      find_uses();
      for (ValueIndex i = 0; i < values.size(); ++i) ask_value(i);
    }
    if (stages_are_open) ask_stages();
    if (workload_.questions.empty()) return;
    open_->draft = draft_;
    workload_.open = open_;
    mark(workload_, *open_, Selection(workload_.questions.size(), 0));
  }

 private:
  void add(Question question, std::size_t about, std::vector<OpenDraft::Use> uses = {}) {
    if (question.variants.size() < 2) return;
    workload_.questions.push_back(std::move(question));
    open_->about.push_back(about);
    open_->uses.push_back(std::move(uses));
  }

  bool is_free(const std::string& name) const { return !names_.contains(name); }

  /// Where each key is an operation's own, and at which level.
  void find_uses() {
    uses_.resize(draft_.world.values.size());
    freshest_.assign(uses_.size(), std::nullopt);
    stages_with_.resize(uses_.size());
    for (std::size_t s = 0; s < workload_.stages.size(); ++s) {
      const Stage& stage = workload_.stages[s];
      for (std::size_t o = 0; o < stage.body.size(); ++o) {
        const BodyOperation& operation = stage.body[o];
        const int level = level_of(stage, operation.operands.front());
        const auto note = [&](ValueIndex key, bool own) {
          if (key >= uses_.size()) return;
          stages_with_[key].insert(s);
          freshest_[key] = std::min(freshest_[key].value_or(level), level);
          if (own) uses_[key].push_back({s, o, level});
        };
        if (operation.key) note(operation.key->index, true);
        for (const Operand& key : operation.keys) note(key.index, false);
      }
    }
  }

  int level_of(const Stage& stage, const Operand& operand) const {
    if (operand.from == Operand::From::result) return stage.body[operand.index].type.level;
    return workload_.world.values[operand.index].type->level;
  }

  void ask_value(ValueIndex index) {
    const ValueDraft& draft = draft_.world.values[index];
    if (is_key(draft.kind)) {
      ask_key(index, draft);
    } else if (draft.kind == ValueKind::plaintext && draft.choose_form && !draft.file && !draft.source) {
      Question question{Question::About::value, draft.name, {std::string(kPrepared)}};
      if (fits_in_words(workload_.world.values[index], draft) && is_free(draft.name.text + ".compact"))
        question.variants.emplace_back(kCompact);
      question.variants.emplace_back(kEncoded);
      add(std::move(question), index);
    }
  }

  void ask_key(ValueIndex index, const ValueDraft& draft) {
    Question question{Question::About::value, draft.name, {std::string(draft.seeded ? kSeeded : kFull)}};
    if (draft.choose_form && is_free(draft.name.text + ".seeded")) question.variants.emplace_back(kSeeded);
    std::vector<OpenDraft::Use> deeper;
    if (draft.choose_level && !draft.level) {
      for (const OpenDraft::Use& use : uses_[index]) {
        const std::string name = level_name(draft.name.text, use.level);
        if (use.level > *freshest_[index] && is_free(name) && is_free(name + ".seeded"))
          deeper.push_back(use);
      }
    }
    const std::size_t forms = question.variants.size();
    for (std::size_t i = 0; !deeper.empty() && i < forms; ++i)
      question.variants.push_back(question.variants[i] + std::string(kByLevel));
    if (forms > 1 && stages_with_[index].size() > 1) question.variants.emplace_back(kSeededThere);
    add(std::move(question), index, std::move(deeper));
  }

  /// As check_compact in inference: one word holds no more than 63 bits and a sign.
  static bool fits_in_words(const Value& value, const ValueDraft& draft) {
    if (!value.type || !draft.message) return false;
    return value.type->scale.log2() + std::log2(std::max(1.0, magnitude(*draft.message))) <= 62;
  }

  void ask_stages() {
    std::vector<std::vector<std::string>> variants(draft_.stages.size());
    std::vector<Bytes> least(draft_.stages.size(), 0);
    for (std::size_t s = 0; s < draft_.stages.size(); ++s)
      least[s] = workload_.stages[s].layout.workspace_bytes;
    for (const int limbs : kGroupSizes) {
      WorkloadDraft draft = draft_;
      for (StageDraft& stage : draft.stages)
        if (stage.choose_key_switch) stage.key_switch_group = limbs;
      const CheckedWorkload checked = check_as_it_is(draft);
      FHERES_CHECK(checked.workload.has_value());
      for (std::size_t s = 0; s < variants.size(); ++s) {
        const Bytes bytes = checked.workload->stages[s].layout.workspace_bytes;
        if (!draft_.stages[s].choose_key_switch || !workload_.stages[s].automatic_reserve ||
            bytes >= least[s])
          continue;
        least[s] = bytes;
        variants[s].push_back(group_name(limbs));
      }
    }
    for (std::size_t s = 0; s < variants.size(); ++s) {
      Question question{Question::About::stage, draft_.stages[s].name, {std::string(kWhole)}};
      question.variants.insert(question.variants.end(), variants[s].begin(), variants[s].end());
      add(std::move(question), s);
    }
  }

  const WorkloadDraft& draft_;
  Workload& workload_;
  std::shared_ptr<OpenDraft> open_;
  std::set<std::string> names_;
  std::vector<std::vector<OpenDraft::Use>> uses_;   // by value
  std::vector<std::optional<int>> freshest_;        // by value: of all of its uses
  std::vector<std::set<std::size_t>> stages_with_;  // by value: that use it as a key
};

/// The selection that a Program says, by the names of what it has variants of.
class ProgramReader {
 public:
  ProgramReader(const Workload& workload, const Program& program) : workload_(workload), program_(program) {}

  Selected run() {
    Selection selection(workload_.questions.size(), 0);
    bool any = false;
    for (std::size_t q = 0; q < workload_.questions.size(); ++q)
      questions_.emplace(
          std::pair(workload_.questions[q].about, std::string_view(workload_.questions[q].name.text)), q);
    const auto read = [&](Question::About about, const Name& name, const std::string& variant) {
      if (variant.empty()) return;
      any = true;
      const auto found = questions_.find({about, name.text});
      const char* what = about == Question::About::value ? "" : "stage ";
      if (found == questions_.end()) {
        problems_.add(
            "FHR0523", name.place,
            fmt::format("{}`{}` has the variant `{}` here, and the workload leaves nothing to choose", what,
                        name.text, variant));
        return;
      }
      const std::vector<std::string>& known = workload_.questions[found->second].variants;
      const auto at = std::find(known.begin(), known.end(), variant);
      if (at == known.end()) {
        problems_.add("FHR0523", name.place,
                      fmt::format("{}`{}` has the variant `{}` here, and in the workload it can be {}", what,
                                  name.text, variant, fmt::join(known, ", ")));
        return;
      }
      selection[found->second] = static_cast<std::size_t>(at - known.begin());
    };
    for (const Value& value : program_.world.values) read(Question::About::value, value.name, value.variant);
    for (const ProgramStage& stage : program_.stages) read(Question::About::stage, stage.name, stage.variant);
    if (!problems_.empty()) return {std::nullopt, problems_.take()};
    return {any ? select(workload_, selection) : workload_, {}};
  }

 private:
  const Workload& workload_;
  const Program& program_;
  Problems problems_;
  std::map<std::pair<Question::About, std::string_view>, std::size_t> questions_;
};

}  // namespace

void ask(const WorkloadDraft& draft, Workload& workload) { Asker(draft, workload).run(); }

Workload select(const Workload& workload, const Selection& selection) {
  if (selection.size() != workload.questions.size())
    throw std::invalid_argument(fmt::format("a selection of {} variants, and there are {} questions",
                                            selection.size(), workload.questions.size()));
  if (selection.empty()) return workload;
  Answers answers(*workload.open);
  for (std::size_t q = 0; q < selection.size(); ++q) {
    const Question& question = workload.questions[q];
    if (selection[q] >= question.variants.size())
      throw std::invalid_argument(fmt::format("variant {} of `{}`, which has {}", selection[q],
                                              question.name.text, question.variants.size()));
    answers.answer(q, question.about, question.variants[selection[q]]);
  }
  CheckedWorkload checked = answers.check();
  FHERES_CHECK(checked.workload.has_value());
  Workload& result = *checked.workload;
  result.world.locations = workload.world.locations;
  result.world.peers = workload.world.peers;
  result.world.machine = workload.world.machine;
  result.world.policy = workload.world.policy;
  result.questions = workload.questions;
  result.open = workload.open;
  mark(result, *result.open, selection);
  return std::move(result);
}

Selected select(const Workload& workload, const Program& program) {
  return ProgramReader(workload, program).run();
}

}  // namespace fheres::workload
