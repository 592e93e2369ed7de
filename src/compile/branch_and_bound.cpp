#include "branch_and_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

#include "choice.hpp"
#include "relaxation.hpp"
#include "volume.hpp"

namespace fheres::compile {
namespace {

using Fixed = Bound::Fixed;

constexpr double kWhole = 1e-6;  // a share this near to 0 or 1 is one
/// Steps of the volume algorithm, where there is no solver; and for a plan beside the solver's.
constexpr int kRootSteps = 3'000, kNodeSteps = 60, kAverageSteps = 1'000;
constexpr std::size_t kManyColumns = 64;  // with fewer, branching finds what there is

struct Node {
  Bytes bound = 0;
  std::uint64_t number = 0;  // later ones first among equals: they are deeper
  std::vector<std::pair<std::size_t, Fixed>> path;
  std::vector<std::int64_t> prices;  // to go on from; without a solver only
};
struct Later {
  bool operator()(const Node& a, const Node& b) const {
    return a.bound != b.bound ? a.bound > b.bound : a.number < b.number;
  }
};

class Search {
 public:
  Search(const Problem& problem, const Bound& bound, Bytes best, const Offer& offer)
      : problem_(problem),
        bound_(bound),
        offer_(offer),
        best_(best),
        fixed_(bound.columns().size(), Fixed::open) {
    if (Relaxation::available() && !bound.rows().empty()) relaxation_.emplace(problem, bound);
    const std::vector<std::size_t> order = by_value(problem);
    rank_.resize(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) rank_[order[i]] = i;
  }

  Branched run(std::uint64_t node_limit) {
    Node root;
    if (bound_.rows().empty()) {
      const Bytes lower = bound_.at({});
      return {std::min(lower, best_), 0, relaxation_.has_value()};
    }
    price(root);
    const Bytes at_root = root.bound;
    if (root.bound < best_) {
      const std::vector<std::size_t> order = by_share();
      best_ = offer_("rounding", order, false);
      if (root.bound < best_) best_ = offer_("rounding", order, true);
    }
    if (relaxation_ && node_limit > 0 && root.bound < best_ && bound_.columns().size() >= kManyColumns)
      offer_average();
    std::optional<Node> next = std::move(root);
    while (next || !open_.empty()) {
      if (!next) {
        next = std::move(const_cast<Node&>(open_.top()));
        open_.pop();
        if (next->bound >= best_) {
          next.reset();
          continue;
        }
        enter(*next);
        price(*next);
      }
      if (next->bound >= best_) {
        next.reset();
        continue;
      }
      const std::optional<std::size_t> column = most_open();
      if (!column) {
        const Bytes before = next->bound;
        best_ = offer_("branch-and-bound", by_share(), false);
        if (best_ > before) unresolved_ = std::min(unresolved_, before);
        next.reset();
        continue;
      }
      if (nodes_ + 2 > node_limit) {
        unresolved_ = std::min(unresolved_, next->bound);
        break;
      }
      next = branch(std::move(*next), *column);
    }
    Bytes lower = std::min(best_, unresolved_);
    if (!open_.empty()) lower = std::min(lower, open_.top().bound);
    return {std::max(lower, std::min(at_root, best_)), nodes_, relaxation_.has_value()};
  }

 private:
  /// What the volume algorithm's average leads to is often a little better than what a vertex of the relaxation does.
  void offer_average() {
    const double target = static_cast<double>(best_) - static_cast<double>(problem_.compulsory);
    std::vector<double> average = volume(bound_, {}, target, kAverageSteps).shares;
    shares_.swap(average);
    best_ = offer_("averaging", by_share(), true);
    shares_.swap(average);
  }

  /// Opens both ways to decide a column; the one that its share leans to is gone on with.
  std::optional<Node> branch(Node node, std::size_t column) {
    const double share = shares_[column];
    const Fixed first = share >= 0.5 ? Fixed::gone : Fixed::kept;
    Node other = node;
    other.number = ++nodes_;
    other.path.push_back({column, first == Fixed::gone ? Fixed::kept : Fixed::gone});
    node.path.push_back({column, first});
    node.number = ++nodes_;
    if (holds(other)) open_.push(std::move(other));
    if (!holds(node)) return std::nullopt;
    enter(node);
    price(node);
    if (nodes_ % 32 < 2 && node.bound < best_) best_ = offer_("branch-and-bound", by_share(), false);
    return node;
  }

  /// Whether what is kept for certain has room; in integers.
  bool holds(const Node& node) const {
    std::vector<Fixed> fixed(fixed_.size(), Fixed::open);
    for (const auto& [column, state] : node.path) fixed[column] = state;
    std::vector<std::int64_t> change(bound_.rows().size() + 1, 0);
    for (std::size_t c = 0; c < fixed.size(); ++c) {
      if (fixed[c] == Fixed::kept) continue;
      change[bound_.columns()[c].first_row] += bound_.columns()[c].charge;
      change[bound_.columns()[c].last_row + 1] -= bound_.columns()[c].charge;
    }
    std::int64_t can_go = 0;
    for (std::size_t r = 0; r < bound_.rows().size(); ++r)
      if ((can_go += change[r]) < bound_.rows()[r].missing) return false;
    return true;
  }

  void enter(const Node& node) {
    for (const std::size_t column : decided_) {
      fixed_[column] = Fixed::open;
      if (relaxation_) relaxation_->set(column, Fixed::open);
    }
    decided_.clear();
    for (const auto& [column, state] : node.path) {
      fixed_[column] = state;
      decided_.push_back(column);
      if (relaxation_) relaxation_->set(column, state);
    }
  }

  void price(Node& node) {
    if (relaxation_) {
      relaxation_->solve();
      shares_ = relaxation_->shares();
      node.bound = std::max(node.bound, bound_.at(relaxation_->prices(), fixed_));
      return;
    }
    Priced priced =
        volume(bound_, node.prices, static_cast<double>(best_) - static_cast<double>(problem_.compulsory),
               node.path.empty() ? kRootSteps : kNodeSteps, fixed_);
    node.prices = std::move(priced.prices);
    shares_ = std::move(priced.shares);
    // Without prices the bound is what is decided, exactly.
    node.bound = std::max({node.bound, bound_.at(node.prices, fixed_),
                           bound_.at(std::vector<std::int64_t>(node.prices.size(), 0), fixed_)});
  }

  /// What something is paid for.
  Bytes weight(std::size_t column) const {
    const Bound::Column& c = bound_.columns()[column];
    return static_cast<Bytes>(c.cost + bound_.offload(c.lane));
  }

  std::optional<std::size_t> most_open() const {
    std::optional<std::size_t> best;
    double best_score = 0;
    for (std::size_t c = 0; c < fixed_.size(); ++c) {
      if (fixed_[c] != Fixed::open || weight(c) == 0) continue;
      const double part = std::min(shares_[c], 1 - shares_[c]);
      if (part < kWhole) continue;
      const double score = part * static_cast<double>(weight(c));
      if (best && score <= best_score) continue;
      best = c;
      best_score = score;
    }
    return best;
  }

  /// All intervals: those that no row asks about, then the others by how little of them goes.
  std::vector<std::size_t> by_share() const {
    std::vector<double> share(problem_.intervals.size(), 0);
    for (std::size_t c = 0; c < shares_.size(); ++c) {
      const double part = weight(c) == 0 ? 2 : shares_[c];
      share[bound_.columns()[c].interval] = part < kWhole ? 0 : part > 1 - kWhole && part < 1.5 ? 1 : part;
    }
    std::vector<std::size_t> order(share.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return share[a] != share[b] ? share[a] < share[b] : rank_[a] < rank_[b];
    });
    return order;
  }

  const Problem& problem_;
  const Bound& bound_;
  const Offer& offer_;
  Bytes best_;
  std::optional<Relaxation> relaxation_;
  std::vector<Fixed> fixed_;          // of the node that was entered last
  std::vector<std::size_t> decided_;  // its columns
  std::vector<double> shares_;        // by column
  std::vector<std::size_t> rank_;     // of intervals, by value for room
  std::priority_queue<Node, std::vector<Node>, Later> open_;
  std::uint64_t nodes_ = 0;
  Bytes unresolved_ = std::numeric_limits<Bytes>::max();
};

}  // namespace

Branched branch_and_bound(const Problem& problem, const Bound& bound, Bytes best, std::uint64_t node_limit,
                          const Offer& offer) {
  return Search(problem, bound, best, offer).run(node_limit);
}

}  // namespace fheres::compile
