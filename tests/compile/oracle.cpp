#include "compile/oracle.hpp"

#include <algorithm>
#include <array>
#include <queue>
#include <vector>

#include <fheres/base/check.hpp>

namespace fheres::test {
namespace {

using memory::Location;
using workload::ValueIndex;

constexpr std::size_t kLocations = 3, kMostValues = 12;
/// Bit 3 v + l: value v has a copy at location l.
using Where = std::uint64_t;
using Charges = std::array<Bytes, kLocations>;

struct Item {
  Bytes moved = 0, charge = 0;
  bool exclusive = false;
  std::optional<std::size_t> source;  // a location
  unsigned goals = 0;                 // locations where some stage requires it
};

struct Moment {
  Bytes bytes = 0;
  std::size_t step = 0;  // two a stage: before its reservations, and after them
  Where where = 0;
  bool operator>(const Moment& other) const { return bytes > other.bytes; }
};

class Oracle {
 public:
  explicit Oracle(const workload::Workload& workload) : workload_(workload), world_(workload.world) {
    for (const auto& entry : world_.locations) index(entry.at);
    for (const workload::Value& value : world_.values) {
      FHERES_CHECK(!value.backing);
      Item item{value.spec.logical_bytes,
                value.spec.storage_bytes,
                value.spec.replica_mode == residency::ReplicaMode::exclusive,
                {},
                0};
      if (value.source) item.source = index(*value.source);
      for (const Location at : value.at) index(at);
      items_.push_back(item);
    }
    FHERES_CHECK(items_.size() <= kMostValues);
    for (const auto& [from, tiers] : world_.policy.fallback)
      for (const Location to : tiers) tiers_[index(from)] |= 1u << index(to);
    for (const workload::Stage& stage : workload.stages) {
      for (const workload::Requirement& item : stage.require)
        items_[item.value].goals |= 1u << index(item.at);
      for (const workload::Reservation& item : stage.reserve) index(item.spec.at);
    }
    for (const Location at : locations_) {
      const auto budgets = world_.budgets();
      const auto budget = budgets.find(at);
      budgets_.push_back(budget == budgets.end() ? ~Bytes{0} >> 1 : budget->second);
    }
    budgets_.resize(kLocations, ~Bytes{0} >> 1);
  }

  std::optional<Bytes> run() {
    const auto start = place();
    if (!start) return std::nullopt;
    settled_.resize(2 * workload_.stages.size() + 1);
    open_.push({0, 0, *start});
    while (!open_.empty()) {
      const Moment now = open_.top();
      open_.pop();
      if (is_needless(now)) continue;
      settled_[now.step].push_back(now.where);
      if (now.step == 2 * workload_.stages.size()) return now.bytes;
      go_on(now);
      bring(now);
    }
    return std::nullopt;
  }

 private:
  std::size_t index(Location at) {
    const auto found = std::find(locations_.begin(), locations_.end(), at);
    if (found != locations_.end()) return static_cast<std::size_t>(found - locations_.begin());
    FHERES_CHECK(locations_.size() < kLocations);
    locations_.push_back(at);
    return locations_.size() - 1;
  }

  static Where bit(ValueIndex v, std::size_t l) { return Where{1} << (kLocations * v + l); }
  static unsigned copies(Where where, ValueIndex v) {
    return static_cast<unsigned>(where >> (kLocations * v)) & ((1u << kLocations) - 1);
  }
  bool is_cuda(std::size_t l) const { return locations_[l].is_cuda(); }

  Bytes used(Where where, std::size_t l) const {
    Bytes sum = 0;
    for (ValueIndex v = 0; v < items_.size(); ++v) sum += (where & bit(v, l)) != 0 ? items_[v].charge : 0;
    return sum;
  }

  /// Everything at its place, or nothing where that has no room. What is loaded or comes second is brought, one by one.
  std::optional<Where> place() {
    Where where = 0;
    for (ValueIndex v = 0; v < items_.size(); ++v) {
      for (const Location at : world_.values[v].at) {
        const std::size_t l = index(at);
        Charges needs{};
        needs[l] = items_[v].charge;
        if (copies(where, v) == 0 && items_[v].source && *items_[v].source != l)
          needs[*items_[v].source] = items_[v].charge;
        for (std::size_t k = 0; k < locations_.size(); ++k)
          if (used(where, k) + needs[k] > budgets_[k]) return std::nullopt;
        where |= bit(v, l);
      }
    }
    return where;
  }

  bool is_needless(const Moment& now) const {
    const auto& known = settled_[now.step];
    // An exclusive value is at one place, so it is the same one; a copy more of another can be dropped.
    return std::any_of(known.begin(), known.end(), [&](Where other) { return (now.where & ~other) == 0; });
  }

  Charges reserved(std::size_t step) const {
    Charges sum{};
    if (step % 2 == 0) return sum;
    for (const workload::Reservation& item : workload_.stages[step / 2].reserve)
      sum[find(item.spec.at)] += round_up_to_granule(item.spec.bytes);
    return sum;
  }
  std::size_t find(Location at) const {
    return static_cast<std::size_t>(std::find(locations_.begin(), locations_.end(), at) - locations_.begin());
  }

  bool may_drop(Where where, ValueIndex v, std::size_t l) const {
    return (where & bit(v, l)) != 0 && ((copies(where, v) & ~(1u << l)) != 0 || items_[v].source);
  }

  /// Every way to have these bytes free, dropping no more than it takes; `keep` stays.
  void make_room(Where where, const Charges& taken, Where keep, std::size_t l,
                 std::vector<Where>& ways) const {
    if (l == locations_.size()) {
      ways.push_back(where);
      return;
    }
    std::vector<ValueIndex> spare;
    for (ValueIndex v = 0; v < items_.size(); ++v)
      if ((keep & bit(v, l)) == 0 && may_drop(where, v, l)) spare.push_back(v);
    const Bytes now = used(where, l) + taken[l];
    std::vector<unsigned> enough;
    for (unsigned set = 0; set < 1u << spare.size(); ++set) {
      if (std::any_of(enough.begin(), enough.end(), [&](unsigned less) { return (less & ~set) == 0; }))
        continue;
      Bytes freed = 0;
      Where left = where;
      for (std::size_t i = 0; i < spare.size(); ++i) {
        if ((set >> i & 1) == 0) continue;
        freed += items_[spare[i]].charge;
        left &= ~bit(spare[i], l);
      }
      if (now - freed > budgets_[l]) continue;
      enough.push_back(set);
      make_room(left, taken, keep, l + 1, ways);
    }
  }

  void go_on(const Moment& now) {
    const workload::Stage& stage = workload_.stages[now.step / 2];
    if (now.step % 2 == 0) {
      std::vector<Where> ways;
      make_room(now.where, reserved(now.step + 1), 0, 0, ways);
      for (const Where way : ways) open_.push({now.bytes, now.step + 1, way});
      return;
    }
    Where where = now.where;
    for (const workload::Requirement& item : stage.require)
      if ((where & bit(item.value, find(item.at))) == 0) return;
    for (const workload::Output& output : stage.outputs) where |= bit(output.value, find(*stage.at));
    for (const workload::Operand& item : stage.release)
      for (std::size_t l = 0; l < kLocations; ++l) where &= ~bit(item.index, l);
    open_.push({now.bytes, now.step + 1, where});
  }

  bool is_over(ValueIndex v, std::size_t step) const {
    for (std::size_t s = 0; s < step / 2; ++s)
      for (const workload::Operand& item : workload_.stages[s].release)
        if (item.index == v) return true;
    const auto made = world_.values[v].produced_by;
    return made && *made >= step / 2;
  }

  void bring(const Moment& now) {
    for (ValueIndex v = 0; v < items_.size(); ++v) {
      if (is_over(v, now.step)) continue;
      const unsigned there = copies(now.where, v);
      if (there == 0 && !items_[v].source) continue;
      unsigned ways = items_[v].goals;
      for (std::size_t l = 0; l < kLocations; ++l)
        if ((there >> l & 1) != 0) ways |= tiers_[l];
      for (std::size_t l = 0; l < locations_.size(); ++l)
        if ((ways >> l & 1) != 0 && (there >> l & 1) == 0) bring(now, v, l, there);
    }
  }

  void bring(const Moment& now, ValueIndex v, std::size_t l, unsigned there) {
    if (there == 0) return bring(now, v, l, *items_[v].source, true);
    for (std::size_t k = 0; k < locations_.size(); ++k)
      if ((there >> k & 1) != 0) bring(now, v, l, k, false);
  }

  /// Out of its copy at `k`, which has to stay so long, or loaded there.
  void bring(const Moment& now, ValueIndex v, std::size_t l, std::size_t k, bool loads) {
    Charges taken = reserved(now.step);
    taken[l] += items_[v].charge;
    if (loads && k != l) taken[k] += items_[v].charge;
    const std::size_t pinned = find(Location::pinned_host());
    if (is_cuda(k) && is_cuda(l) && k != l && world_.peers.empty() && pinned < locations_.size())
      taken[pinned] += items_[v].charge;
    std::vector<Where> ways;
    make_room(now.where, taken, loads ? 0 : bit(v, k), 0, ways);
    for (Where way : ways) {
      if (items_[v].exclusive) way &= ~bit(v, k);
      open_.push({now.bytes + items_[v].moved, now.step, way | bit(v, l)});
    }
  }

  const workload::Workload& workload_;
  const workload::World& world_;
  std::vector<Location> locations_;
  std::vector<Bytes> budgets_;
  std::vector<Item> items_;
  std::array<unsigned, kLocations> tiers_{};
  std::vector<std::vector<Where>> settled_;
  std::priority_queue<Moment, std::vector<Moment>, std::greater<>> open_;
};

}  // namespace

std::optional<Bytes> least_bytes(const workload::Workload& workload) { return Oracle(workload).run(); }

}  // namespace fheres::test
