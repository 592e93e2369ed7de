#include "variant_search.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <fheres/base/check.hpp>

#include "alternatives.hpp"
#include "as_it_is.hpp"

namespace fheres::compile {
namespace {

using Fixed = std::vector<std::optional<std::size_t>>;
using workload::VariantEvidence;

/// Selections that are compiled in a search, for workloads of so many stages and values: a constant, so that equal
/// inputs give equal answers.
constexpr std::size_t kWork = 60'000;
constexpr std::size_t kMostSelections = 300;
/// Up to so many stages times values each selection is compiled with a few nodes; beyond, with none.
constexpr std::size_t kSmall = 2'000;
constexpr std::uint64_t kFewNodes = 40;
/// Of each of the controller's decisions, for each selection: it is one way to a plan among several.
constexpr std::uint64_t kFewStates = 200;
/// Beyond so many questions branching over them comes to nothing.
constexpr std::size_t kMostBranched = 24;
constexpr std::size_t kMostNodes = 20'000;
/// Other variants whose plans are looked at for the evidence alone.
constexpr std::size_t kTold = 12;
/// Selections that may be compiled, whatever was before, to give stages their larger variants again.
constexpr std::size_t kEnlarged = 40;
/// How often prices are asked for the cheapest variants, and those for new prices.
constexpr int kPricings = 6;

class Search {
 public:
  Search(const Workload& workload, const CompileOptions& options)
      : options_(options), alternatives_(workload), stages_(workload.stages.size()) {
    for (std::size_t s = 0; s < stages_; ++s) numbers_.emplace(workload.stages[s].name.text, s);
    const std::size_t values = workload.world.values.size();
    left_ = std::clamp<std::size_t>(kWork / (stages_ + values + 1), 12, kMostSelections);
    quick_ = options;
    const std::uint64_t few = stages_ * values > kSmall ? 0 : kFewNodes;
    quick_.node_limit = std::min(options.node_limit.value_or(few), few);
    if (!by_time()) quick_.machine.reset();
    quick_.search_state_limit = std::min(quick_.search_state_limit, kFewStates);
  }

  Outcome run() {
    if (auto infeasible = alternatives_.certificate()) return std::move(*infeasible);
    const Selection first(alternatives_.questions().size(), 0);
    visit(first);
    follow_best();
    follow_prices(first);
    follow_prices(alternatives_.smallest());
    // What comes and goes needs room that prices do not see; values in their first variants need none beside themselves.
    for (std::size_t k = 0; k < alternatives_.most_variants(); ++k) try_values(values_alike(k));
    if (!best_) repair();
    if (!best_) return nothing_found();
    exchange();
    enlarge_stages();
    const Bytes lower = branch();
    return finish(lower);
  }

 private:
  bool by_time() const { return options_.minimize == CompileOptions::Minimize::time; }

  /// Smaller is better. Of equals, what has fewer variants other than the first.
  using Score = std::tuple<std::uint64_t, Bytes, std::size_t, Bytes>;
  struct Visited {
    std::optional<Score> score;  // absent: no plan
    Bytes moved_bytes = 0;
    Bytes lower_bound = 0;  // of this selection; the largest number where it is proven infeasible
    std::optional<std::uint64_t> predicted_ns;
    std::optional<std::size_t> stuck;  // the furthest stage that a way to a plan came to
    std::string reason;                // why there is none
  };

  /// Null where it is new and no more are looked at.
  const Visited* visit(const Selection& selection) {
    const auto known = visited_.find(selection);
    if (known != visited_.end()) return &known->second;
    if (left_ == 0) return nullptr;
    --left_;
    const Visited& made = visited_.emplace(selection, look_at(selection)).first->second;
    if (made.score && (!best_ || *made.score < best_score_)) {
      best_ = selection;
      best_score_ = *made.score;
      best_moved_ = made.moved_bytes;
    }
    return &made;
  }

  Visited look_at(const Selection& selection) const {
    Visited result;
    const Outcome outcome = compile_as_it_is(alternatives_.with(selection), quick_, /*quick=*/true);
    if (const auto* made = std::get_if<Compiled>(&outcome)) {
      const workload::Evidence& evidence = *made->program.evidence;
      const auto changed = static_cast<std::size_t>(
          std::count_if(selection.begin(), selection.end(), [](std::size_t k) { return k != 0; }));
      if (evidence.time) result.predicted_ns = evidence.time->predicted_ns;
      result.score = {by_time() ? evidence.time->predicted_ns : 0, evidence.moved_bytes, changed,
                      evidence.compacted_bytes};
      result.moved_bytes = evidence.moved_bytes;
      result.lower_bound = evidence.lower_bound_bytes;
    } else if (const auto* no = std::get_if<Infeasible>(&outcome)) {
      result.lower_bound = std::numeric_limits<Bytes>::max();
      result.reason = no->reason;
      result.stuck = no->stage.empty() ? 0 : numbers_.at(no->stage);
    } else {
      for (const Attempt& attempt : std::get<Inconclusive>(outcome).attempts) {
        if (!result.reason.empty() && (!attempt.stuck || attempt.stuck <= result.stuck)) continue;
        result.stuck = attempt.stuck;
        result.reason = attempt.reason;
      }
    }
    return result;
  }

  /// These variants of values. What a stage's variant saves is room alone, so bytes are looked for with the smallest.
  void try_values(const Selection& selection) {
    if (by_time()) visit(selection);
    visit(in_small_stages(selection));
  }

  /// The variants that the joint relaxation has most of, and the cheapest at its prices.
  void follow_best() {
    const Alternatives::Best best = alternatives_.best_prices();
    if (best.prices.empty()) return;
    add_prices(best.prices);
    Selection selection;
    for (const auto& shares : best.shares)
      selection.push_back(
          static_cast<std::size_t>(std::max_element(shares.begin(), shares.end()) - shares.begin()));
    try_values(selection);
    try_values(Alternatives::cheapest(priced_.back()));
  }

  /// The cheapest variants at the prices of a selection, those of that one, and so on.
  void follow_prices(Selection selection) {
    try_values(selection);
    for (int i = 0; i < kPricings; ++i) {
      if (!price(selection)) return;
      try_values(Alternatives::cheapest(priced_.back()));
      selection = Alternatives::cheapest(priced_[priced_.size() - 2]);
      try_values(selection);
    }
  }

  /// Every value in its variant of that number, or its last; stages in their first.
  Selection values_alike(std::size_t k) const {
    Selection selection;
    for (const workload::Question& question : alternatives_.questions())
      selection.push_back(
          question.about == workload::Question::About::value ? std::min(k, question.variants.size() - 1) : 0);
    return selection;
  }

  Selection in_small_stages(Selection selection) const {
    const Selection smallest = alternatives_.smallest();
    for (std::size_t q = 0; q < selection.size(); ++q)
      if (about_stage(q)) selection[q] = smallest[q];
    return selection;
  }

  /// False where these were known.
  bool price(const Selection& selection) {
    if (std::find(priced_for_.begin(), priced_for_.end(), selection) != priced_for_.end()) return false;
    priced_for_.push_back(selection);
    add_prices(prices_of(make_problem(alternatives_.with(selection))));
    return true;
  }

  void add_prices(const Prices& prices) {
    priced_.push_back(alternatives_.priced(prices));
    priced_.push_back(alternatives_.with_placement(priced_.back()));
  }

  bool about_stage(std::size_t question) const {
    return alternatives_.questions()[question].about == workload::Question::About::stage;
  }

  Bytes bound(const Fixed& fixed) const {
    Bytes most = 0;
    for (const Alternatives::Priced& priced : priced_)
      most = std::max(most, alternatives_.bound(priced, fixed));
    return most;
  }

  /// No plan yet: from the selection that came furthest, one question of the stage where it got stuck is answered
  /// otherwise, whichever comes furthest then.
  void repair() {
    std::optional<Selection> now;
    const auto further = [&](const Selection& a, const Selection& b) {
      return visited_.at(a).stuck.value_or(0) > visited_.at(b).stuck.value_or(0);
    };
    for (const auto& entry : visited_)
      if (!now || further(entry.first, *now)) now = entry.first;
    while (now && !best_) {
      const std::size_t stuck = visited_.at(*now).stuck.value_or(0);
      std::optional<Selection> next;
      for (const std::size_t q : alternatives_.asked_in(stuck)) {
        for (std::size_t k = 0; k < alternatives_.questions()[q].variants.size() && !best_; ++k) {
          if (k == (*now)[q]) continue;
          Selection other = *now;
          other[q] = k;
          if (visited_.contains(other) || visit(other) == nullptr) continue;
          if (further(other, next ? *next : *now)) next = std::move(other);
        }
      }
      now = next;
    }
  }

  struct Exchange {
    std::size_t question = 0;
    std::size_t variant = 0;
    Wide saves = 0;  // as far as prices say
  };

  /// Every other answer to one question, the most promising first.
  std::vector<Exchange> exchanges() const {
    std::vector<Exchange> list;
    const Alternatives::Priced& priced = priced_.back();
    for (std::size_t q = 0; q < best_->size(); ++q)
      for (std::size_t k = 0; k < priced.terms[q].size() && (by_time() || !about_stage(q)); ++k)
        if (k != (*best_)[q]) list.push_back({q, k, priced.terms[q][(*best_)[q]] - priced.terms[q][k]});
    std::stable_sort(list.begin(), list.end(),
                     [](const Exchange& a, const Exchange& b) { return a.saves > b.saves; });
    return list;
  }

  /// Passes over all of them, each from the best selection so far, until one changes nothing.
  void exchange() {
    for (std::optional<Selection> before; before != best_;) {
      before = best_;
      price(*best_);
      for (const Exchange& item : exchanges()) {
        if (item.variant == (*best_)[item.question] || (!by_time() && !may_help(item))) continue;
        Selection other = *best_;
        other[item.question] = item.variant;
        if (visit(other) == nullptr) return;
      }
    }
  }

  /// Stages back to their first variant where that moves no more: many at once, and halves of them where that fails;
  /// what is left to the largest group that does.
  void enlarge_stages() {
    if (by_time()) return;
    std::vector<std::size_t> small;
    for (std::size_t q = 0; q < best_->size(); ++q)
      if (about_stage(q) && (*best_)[q] != 0) small.push_back(q);
    left_ = std::max(left_, kEnlarged);
    enlarge(small);
    for (const std::size_t q : small)
      for (std::size_t k = 1; k < (*best_)[q] && left_ != 0; ++k) enlarge({q}, k);
  }

  void enlarge(const std::vector<std::size_t>& stages, std::size_t variant = 0) {
    if (stages.empty()) return;
    Selection other = *best_;
    for (const std::size_t q : stages) other[q] = variant;
    if (visit(other) == nullptr || best_ == other || stages.size() == 1) return;
    const auto middle = stages.begin() + static_cast<std::ptrdiff_t>(stages.size() / 2);
    enlarge({stages.begin(), middle}, variant);
    enlarge({middle, stages.end()}, variant);
  }

  bool may_help(const Exchange& item) const {
    Fixed fixed(best_->size());
    fixed[item.question] = item.variant;
    const Bytes least = bound(fixed);
    // Back to a first variant it need only be as good.
    return least < best_moved_ || (item.variant == 0 && least == best_moved_);
  }

  /// Answers question after question both ways, as long as a bound allows a better plan, and returns what no plan of any
  /// combination gets below.
  Bytes branch() {
    const Bytes root = bound(Fixed(best_->size()));
    if (best_->size() > kMostBranched || root >= best_moved_) return std::min(root, best_moved_);
    std::vector<std::size_t> order(best_->size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<Wide> spread;
    for (const std::vector<Wide>& terms : priced_.back().terms) {
      const auto [least, most] = std::minmax_element(terms.begin(), terms.end());
      spread.push_back(*most - *least);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return spread[a] > spread[b]; });
    Fixed fixed(best_->size());
    const Bytes found = descend(order, 0, fixed);
    return std::min(best_moved_, std::max(root, found));
  }

  /// The least that plans below this node move, as far as is known.
  Bytes descend(const std::vector<std::size_t>& order, std::size_t depth, Fixed& fixed) {
    const Bytes here = bound(fixed);
    if (here >= best_moved_ || nodes_ >= kMostNodes) return here;
    ++nodes_;
    if (depth == order.size()) {
      Selection selection;
      for (const auto& answer : fixed) selection.push_back(*answer);
      const Visited* made = visit(selection);
      return made == nullptr ? here : std::max(here, made->lower_bound);
    }
    const std::size_t q = order[depth];
    const std::vector<Wide>& terms = priced_.back().terms[q];
    std::vector<std::size_t> ways(terms.size());
    std::iota(ways.begin(), ways.end(), std::size_t{0});
    std::stable_sort(ways.begin(), ways.end(),
                     [&](std::size_t a, std::size_t b) { return terms[a] < terms[b]; });
    Bytes least = std::numeric_limits<Bytes>::max();
    for (const std::size_t k : ways) {
      fixed[q] = k;
      least = std::min(least, descend(order, depth + 1, fixed));
    }
    fixed[q].reset();
    return std::max(here, least);
  }

  Outcome finish(Bytes lower) {
    const Workload chosen = alternatives_.with(*best_);
    CompileOptions how = options_;
    how.search_state_limit = quick_.search_state_limit;
    Outcome outcome = compile_as_it_is(chosen, how);
    auto* made = std::get_if<Compiled>(&outcome);
    FHERES_CHECK(made != nullptr);
    workload::Evidence& evidence = *made->program.evidence;
    evidence.lower_bound_bytes = std::min(lower, evidence.moved_bytes);
    evidence.nodes += nodes_;
    evidence.selections = visited_.size();
    explain(evidence);
    const Visited& without = visited_.at(Selection(best_->size(), 0));
    made->attempts.push_back({"first variants",
                              without.score ? std::optional(without.moved_bytes) : std::nullopt,
                              without.reason,
                              {}});
    return outcome;
  }

  /// Which variants were chosen, and what the others come to.
  void explain(workload::Evidence& evidence) {
    left_ = std::max(left_, kTold);
    const Fixed open(best_->size());
    for (std::size_t q = 0; q < best_->size(); ++q) {
      const workload::Question& question = alternatives_.questions()[q];
      VariantEvidence& item = evidence.variants.emplace_back();
      item.about = question.about;
      item.name = question.name.text;
      item.chosen = question.variants[(*best_)[q]];
      for (std::size_t k = 0; k < question.variants.size(); ++k) {
        if (k == (*best_)[q]) continue;
        VariantEvidence::Instead& instead = item.instead.emplace_back();
        instead.variant = question.variants[k];
        Fixed fixed = open;
        fixed[q] = k;
        instead.lower_bound_bytes = bound(fixed);
        Selection other = *best_;
        other[q] = k;
        const Visited* made = visit_for_reason(other);
        if (made == nullptr) continue;
        if (made->score) instead.moved_bytes = made->moved_bytes;
        instead.predicted_ns = made->predicted_ns;
        instead.reason = made->reason;
      }
    }
  }

  /// What is known of it, without another choice.
  const Visited* visit_for_reason(const Selection& selection) {
    const auto known = visited_.find(selection);
    if (known != visited_.end()) return &known->second;
    if (left_ == 0) return nullptr;
    --left_;
    return &visited_.emplace(selection, look_at(selection)).first->second;
  }

  Outcome nothing_found() const {
    Inconclusive result;
    result.reason = "no plan was found that replays, and no proof that there is none";
    for (const auto& [selection, made] : visited_) {
      if (result.attempts.size() == kMostTold) break;
      std::string changed;
      for (std::size_t q = 0; q < selection.size(); ++q) {
        const workload::Question& question = alternatives_.questions()[q];
        if (selection[q] == 0) continue;
        if (changed.size() > kMostText) {
          changed += ", ...";
          break;
        }
        changed += fmt::format("{}{} {}", changed.empty() ? "" : ", ", question.name.text,
                               question.variants[selection[q]]);
      }
      result.attempts.push_back({changed.empty() ? "first variants" : changed, {}, made.reason, made.stuck});
      result.reason += fmt::format("; {}: {}", result.attempts.back().method, made.reason);
    }
    return result;
  }
  static constexpr std::size_t kMostTold = 6, kMostText = 60;

  const CompileOptions& options_;
  const Alternatives alternatives_;
  CompileOptions quick_;
  std::size_t stages_;
  std::map<std::string, std::size_t> numbers_;  // of stages
  std::size_t left_ = 0;                        // selections that may still be compiled
  std::map<Selection, Visited> visited_;
  std::vector<Selection> priced_for_;
  std::vector<Alternatives::Priced> priced_;  // two of each: the second with a price of initial placement
  std::optional<Selection> best_;
  Score best_score_;
  Bytes best_moved_ = 0;
  std::uint64_t nodes_ = 0;
};

}  // namespace

Outcome compile_open(const Workload& workload, const CompileOptions& options) {
  return Search(workload, options).run();
}

}  // namespace fheres::compile
