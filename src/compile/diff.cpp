#include <algorithm>

#include <fmt/format.h>

#include <fheres/compile/diff.hpp>

namespace fheres::compile {
namespace {

using About = Difference::About;
using How = Difference::How;
using Kind = Step::Kind;
using ValueAt = std::pair<std::string, Location>;

std::string names(const std::set<Location>& at) {
  std::string list;
  for (const Location where : at) list += (list.empty() ? "" : ", ") + where.name();
  return list.empty() ? "nowhere" : list;
}

/// One side, indexed.
class Side {
 public:
  explicit Side(const Movements& movements) : all(movements) {
    for (std::size_t s = 0; s < all.stages.size(); ++s) {
      index_.emplace(all.stages[s].name, s);
      for (std::size_t i = 0; i < all.stages[s].steps.size(); ++i) {
        const Step& step = all.stages[s].steps[i];
        history_[{step.value, step.at}].push_back({s, i});
      }
    }
  }

  const Movements& all;

  std::optional<std::size_t> find(const std::string& stage) const {
    const auto found = index_.find(stage);
    return found == index_.end() ? std::nullopt : std::optional(found->second);
  }
  const ValueFacts* facts(const std::string& value) const {
    if (!all.values) return nullptr;
    const auto found = all.values->find(value);
    return found == all.values->end() ? nullptr : &found->second;
  }
  /// The step that settled whether the value was there when the stage began; nothing: it is as it started.
  const Step* last_before(const ValueAt& what, std::size_t stage, std::size_t& in) const {
    const auto found = history_.find(what);
    if (found == history_.end()) return nullptr;
    const Step* last = nullptr;
    for (const auto& [s, i] : found->second) {
      if (s >= stage) break;
      last = &all.stages[s].steps[i];
      in = s;
    }
    return last;
  }
  bool is_there(const ValueAt& what, std::size_t stage) const {
    std::size_t in = 0;
    if (const Step* last = last_before(what, stage, in)) return last->kind != Kind::leaves;
    const ValueFacts* fact = facts(what.first);
    return fact != nullptr && fact->at.contains(what.second);
  }
  /// Stages in which it comes there by a transfer.
  std::vector<std::size_t> arrivals(const ValueAt& what) const {
    std::vector<std::size_t> stages;
    const auto found = history_.find(what);
    if (found == history_.end()) return stages;
    for (const auto& [s, i] : found->second)
      if (all.stages[s].steps[i].kind == Kind::arrives) stages.push_back(s);
    return stages;
  }

 private:
  std::map<std::string, std::size_t> index_;
  std::map<ValueAt, std::vector<std::pair<std::size_t, std::size_t>>> history_;
};

class Differ {
 public:
  Differ(const Movements& before, const Movements& after) : a_(before), b_(after) {
    result_.moved_before = before.moved_bytes;
    result_.moved_after = after.moved_bytes;
  }

  Diff run() {
    compare_budgets();
    if (a_.all.values && b_.all.values) compare_values();
    compare_order();
    for (const StageMovements& stage : a_.all.stages) {
      if (b_.find(stage.name)) continue;
      add({About::stage, How::removed, stage.name, "", "is gone", ""});
      for (const Step& step : stage.steps) lone(step, stage.name, How::removed, "its stage is gone");
    }
    for (std::size_t s = 0; s < b_.all.stages.size(); ++s) {
      const StageMovements& stage = b_.all.stages[s];
      if (const auto old = a_.find(stage.name)) {
        compare_stages(a_.all.stages[*old], *old, stage, s);
        continue;
      }
      add({About::stage, How::added, stage.name, "", "is new", ""});
      for (const Step& step : stage.steps) lone(step, stage.name, How::added, "its stage is new");
    }
    return std::move(result_);
  }

 private:
  // ---- What was given

  void compare_budgets() {
    std::map<Location, std::pair<std::optional<Bytes>, std::optional<Bytes>>> budgets;
    for (const auto& [at, bytes] : a_.all.budgets) budgets[at].first = bytes;
    for (const auto& [at, bytes] : b_.all.budgets) budgets[at].second = bytes;
    for (const auto& [at, pair] : budgets) {
      if (pair.first == pair.second) continue;
      const auto text = [](const std::optional<Bytes>& bytes) {
        return bytes ? format_bytes(*bytes) : "none";
      };
      add({About::budget, How::changed, "", at.name(),
           fmt::format("budget {}, was {}", text(pair.second), text(pair.first)), ""});
    }
  }

  void compare_values() {
    for (const auto& [name, fact] : *a_.all.values) {
      if (b_.facts(name) == nullptr)
        add({About::value, How::removed, "", name, fmt::format("{}, {}", format_bytes(fact.bytes), fact.kind),
             ""});
    }
    for (const auto& [name, fact] : *b_.all.values) {
      const ValueFacts* old = a_.facts(name);
      if (old == nullptr) {
        add({About::value, How::added, "", name, fmt::format("{}, {}", format_bytes(fact.bytes), fact.kind),
             ""});
        continue;
      }
      std::string what;
      const auto differ = [&](const std::string& now, const std::string& then) {
        if (now != then) what += fmt::format("{}{}, was {}", what.empty() ? "" : "; ", now, then);
      };
      differ(size_text(fact.bytes, old->bytes), size_text(old->bytes, fact.bytes));
      differ(fact.kind, old->kind);
      differ(variant_text(fact.variant), variant_text(old->variant));
      differ("starts at " + names(fact.at),
             names(old->at) == names(fact.at) ? "starts at " + names(fact.at) : names(old->at));
      if (!what.empty()) add({About::value, How::changed, "", name, what, ""});
    }
  }

  static std::string variant_text(const std::string& variant) {
    return variant.empty() ? "no variant" : "variant " + variant;
  }

  /// Every byte where two sizes would read the same.
  static std::string size_text(Bytes bytes, Bytes beside) {
    return format_bytes(bytes) == format_bytes(beside) && bytes != beside ? format_exact_bytes(bytes)
                                                                          : format_bytes(bytes);
  }

  void compare_order() {
    std::vector<std::string> before, after;
    for (const StageMovements& stage : a_.all.stages)
      if (b_.find(stage.name)) before.push_back(stage.name);
    for (const StageMovements& stage : b_.all.stages)
      if (a_.find(stage.name)) after.push_back(stage.name);
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (before[i] == after[i]) continue;
      add({About::stage, How::changed, after[i], "", fmt::format("runs where {} ran", before[i]), ""});
    }
  }

  void compare_given(const StageMovements& a, const StageMovements& b) {
    std::string what;
    const auto say = [&](const std::string& text) { what += (what.empty() ? "" : "; ") + text; };
    std::map<std::pair<Location, std::string>, std::pair<Bytes, Bytes>> reservations;
    for (const auto& [key, bytes] : a.reservations) reservations[key].first = bytes;
    for (const auto& [key, bytes] : b.reservations) reservations[key].second = bytes;
    for (const auto& [key, bytes] : reservations) {
      if (bytes.first == bytes.second) continue;
      say(fmt::format("reserves {} at {} for {}, was {}", size_text(bytes.second, bytes.first),
                      key.first.name(), key.second, size_text(bytes.first, bytes.second)));
    }
    // A report does not say.
    if (a_.all.values && b_.all.values && a.variant != b.variant)
      say(fmt::format("{}, was {}", variant_text(b.variant), variant_text(a.variant)));
    if (a.uses && b.uses) {
      for (const auto& [value, at] : *b.uses)
        if (!a.uses->contains({value, at})) say(fmt::format("uses {} at {}", value, at.name()));
      for (const auto& [value, at] : *a.uses)
        if (!b.uses->contains({value, at})) say(fmt::format("no longer uses {} at {}", value, at.name()));
    }
    const auto missing = [](const std::vector<std::string>& lines, const std::string& line) {
      return std::find(lines.begin(), lines.end(), line) == lines.end();
    };
    for (const std::string& line : b.body)
      if (missing(a.body, line)) say(fmt::format("does `{}`", line));
    for (const std::string& line : a.body)
      if (missing(b.body, line)) say(fmt::format("no longer does `{}`", line));
    if (!what.empty()) add({About::stage, How::changed, b.name, "", what, ""});
  }

  // ---- What follows

  using ByPlace = std::map<std::pair<Kind, ValueAt>, std::vector<const Step*>>;

  static ByPlace by_place(const StageMovements& stage) {
    ByPlace steps;
    for (const Step& step : stage.steps) steps[{step.kind, {step.value, step.at}}].push_back(&step);
    return steps;
  }

  void compare_stages(const StageMovements& a, std::size_t at_a, const StageMovements& b, std::size_t at_b) {
    compare_given(a, b);
    const ByPlace before = by_place(a), after = by_place(b);
    for (const auto& [key, steps] : before) {
      const auto found = after.find(key);
      const std::size_t left = found == after.end() ? 0 : found->second.size();
      for (std::size_t i = left; i < steps.size(); ++i) lone(*steps[i], b.name, How::removed, "");
    }
    // In the order in which they run.
    std::map<std::pair<Kind, ValueAt>, std::size_t> seen;
    for (const Step& step : b.steps) {
      const std::pair key{step.kind, ValueAt{step.value, step.at}};
      const std::size_t number = seen[key]++;
      const auto found = before.find(key);
      if (found == before.end() || number >= found->second.size()) {
        lone(step, b.name, How::added,
             step.kind == Kind::arrives ? why_it_comes(step, at_a, at_b) : why_it_goes(step, at_b));
      } else {
        compare_steps(*found->second[number], step, b.name);
      }
    }
  }

  void compare_steps(const Step& a, const Step& b, const std::string& stage) {
    if (a.from == b.from && a.bytes == b.bytes && a.phase == b.phase) return;
    if (b.kind == Kind::made) return;
    std::string what = text(b);
    std::string why;
    if (a.bytes != b.bytes) {
      what += fmt::format(", was {}", size_text(a.bytes, b.bytes));
      why = "it has another size";
    }
    if (a.from != b.from) {
      what += fmt::format(", was from {}", a.from ? a.from->name() : "nowhere");
      why = fmt::format("it is read at {}", b.from ? b.from->name() : "no place");
    }
    if (a.phase != b.phase) what += fmt::format(", in {}, was in {}", b.phase, a.phase);
    add({b.kind == Kind::arrives ? About::transfer : About::eviction, How::changed, stage, b.value, what, why,
         a.bytes, b.bytes});
    if (b.kind == Kind::arrives) ++result_.changed;
  }

  static std::string text(const Step& step) {
    if (step.kind == Kind::leaves) return fmt::format("leaves {}", step.at.name());
    return fmt::format("{} {} -> {}", format_bytes(step.bytes), step.from ? step.from->name() : "?",
                       step.at.name());
  }

  void lone(const Step& step, const std::string& stage, How how, const std::string& why) {
    if (step.kind == Kind::made) return;
    const bool is_transfer = step.kind == Kind::arrives;
    const bool is_added = how == How::added;
    if (is_transfer) ++(is_added ? result_.added : result_.removed);
    std::string what = text(step);
    if (step.phase == "prefetch") what += ", asynchronous";
    if (step.phase == "release") what += ", released";
    add({is_transfer ? About::transfer : About::eviction, how, stage, step.value, what, why,
         is_added ? 0 : step.bytes, is_added ? step.bytes : 0});
  }

  std::string why_it_comes(const Step& step, std::size_t at_a, std::size_t at_b) const {
    const ValueAt what{step.value, step.at};
    if (a_.all.values && a_.facts(step.value) == nullptr) return "the value is new";
    const auto &uses_a = a_.all.stages[at_a].uses, &uses_b = b_.all.stages[at_b].uses;
    if (uses_a && uses_b && uses_b->contains(what) && !uses_a->contains(what))
      return "the stage uses it only now";
    if (a_.is_there(what, at_a)) {
      std::size_t in = 0;
      if (const Step* last = b_.last_before(what, at_b, in); last != nullptr && last->kind == Kind::leaves) {
        return fmt::format("it was there, and now leaves in {} of stage {}: {}", last->phase,
                           b_.all.stages[in].name, pressure(step.at, in));
      }
      if (b_.facts(step.value) != nullptr && a_.facts(step.value) != nullptr &&
          a_.facts(step.value)->at.contains(step.at) && !b_.facts(step.value)->at.contains(step.at))
        return fmt::format("it no longer starts at {}", step.at.name());
      return fmt::format("it came to {} before, and does not now", step.at.name());
    }
    for (const std::size_t s : a_.arrivals(what)) {
      const std::string& stage = a_.all.stages[s].name;
      const auto now = b_.find(stage);
      const auto again = b_.arrivals(what);
      if (!now || std::find(again.begin(), again.end(), *now) == again.end())
        return fmt::format("it came in stage {} before", stage);
    }
    if (step.at.is_host())
      return fmt::format("it is written there so that it can leave: {}",
                         pressure(step.from.value_or(step.at), at_b));
    return "it did not come there before";
  }

  std::string why_it_goes(const Step& step, std::size_t at_b) const {
    if (step.phase == "release") return "it is released";
    const auto old = a_.find(b_.all.stages[at_b].name);
    if (old && !a_.is_there({step.value, step.at}, *old)) return "it was not there before";
    return pressure(step.at, at_b);
  }

  /// What takes room at a location in a stage that was not taken before.
  std::string pressure(Location at, std::size_t at_b) const {
    const auto budget = [&](const Side& side) {
      const auto found = side.all.budgets.find(at);
      return found == side.all.budgets.end() ? std::nullopt : std::optional(found->second);
    };
    const auto before = budget(a_), after = budget(b_);
    if (after && (!before || *after < *before))
      return fmt::format("the budget of {} is smaller, {}, was {}", at.name(), format_bytes(*after),
                         before ? format_bytes(*before) : "none");
    const StageMovements& stage = b_.all.stages[at_b];
    const auto old = a_.find(stage.name);
    const auto reserved = [&](const StageMovements& in) {
      Bytes sum = 0;
      for (const auto& [key, bytes] : in.reservations)
        if (key.first == at) sum += bytes;
      return sum;
    };
    const Bytes then = old ? reserved(a_.all.stages[*old]) : 0;
    if (reserved(stage) > then)
      return fmt::format("the stage reserves more at {}, {}, was {}", at.name(),
                         size_text(reserved(stage), then), size_text(then, reserved(stage)));
    for (const Step& other : stage.steps) {
      if (other.kind == Kind::leaves || other.at != at) continue;
      const ValueFacts *now = b_.facts(other.value), *was = a_.facts(other.value);
      if (now != nullptr && was == nullptr) return fmt::format("{} is new and comes there", other.value);
      if (now != nullptr && now->bytes > was->bytes)
        return fmt::format("{} comes there and is larger, {}, was {}", other.value,
                           size_text(now->bytes, was->bytes), size_text(was->bytes, now->bytes));
    }
    return "another choice under the same room";
  }

  void add(Difference difference) { result_.differences.push_back(std::move(difference)); }

  Side a_, b_;
  Diff result_;
};

}  // namespace

Diff diff(const Movements& before, const Movements& after) { return Differ(before, after).run(); }

}  // namespace fheres::compile
