#include "verify/books.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <fheres/base/check.hpp>

namespace fheres::verify {
namespace {

constexpr std::size_t kNamedBlocks = 3;
constexpr int kIndexShift = 16, kKindShift = 56;

}  // namespace

Addresses::Key key_of(BlockOf kind, std::size_t index, Location at) {
  return static_cast<Addresses::Key>(kind) << kKindShift | static_cast<Addresses::Key>(index) << kIndexShift |
         at.index();
}
BlockOf kind_of(Addresses::Key key) { return static_cast<BlockOf>(key >> kKindShift); }
std::size_t index_of(Addresses::Key key) {
  return static_cast<std::size_t>(key << (64 - kKindShift) >> (64 - kKindShift + kIndexShift));
}

std::string describe(Addresses::Key block, const workload::World& world) {
  const auto name = [&] { return world.values[index_of(block)].name.text; };
  switch (kind_of(block)) {
    case BlockOf::value:
      return name();
    case BlockOf::workspace:
      return "the body's workspace";
    case BlockOf::output:
      return "an output of the body";
    case BlockOf::loaded:
      return fmt::format("{} where it is made", name());
    case BlockOf::backing:
      return fmt::format("what {} is expanded from", name());
    case BlockOf::staging:
      return fmt::format("the staging of {}", name());
  }
  FHERES_CHECK(false);
}

std::string describe(const std::vector<Addresses::Key>& blocks, const workload::World& world) {
  std::string names;
  for (std::size_t i = 0; i < std::min(blocks.size(), kNamedBlocks); ++i)
    names += (names.empty() ? "" : ", ") + describe(blocks[i], world);
  if (blocks.size() > kNamedBlocks) names += fmt::format(" and {} more", blocks.size() - kNamedBlocks);
  return names;
}

Books::Books(const workload::World& world) : accounts_(Location::kCount) {
  accounts_[0].at = Location::pageable_host();
  accounts_[1].at = Location::pinned_host();
  for (int device = 0; device < Location::kMaxDevices; ++device) {
    const Location there = Location::cuda(device);
    accounts_[there.index()].at = there;
  }
  for (const workload::LocationEntry& entry : world.locations) {
    if (!entry.budget) continue;
    Account& account = at(entry.at);
    account.budget = entry.budget;
    account.known = true;
    if (entry.at != Location::pageable_host()) account.addresses.emplace(*entry.budget);
  }
}

std::optional<std::string> Books::refusal(Location at, Bytes more) const {
  const Account& account = accounts_[at.index()];
  if (!account.budget || account.over()) return std::nullopt;
  const Bytes left = *account.budget - account.charged();
  if (more <= left) return std::nullopt;
  return fmt::format("needs {} at {}, and of the budget of {} are {} used and {} reserved: {} short",
                     format_exact_bytes(more), at.name(), format_exact_bytes(*account.budget),
                     format_bytes(account.used), format_bytes(account.reserved),
                     format_exact_bytes(more - left));
}

void Books::charge(Location at, Bytes used, Bytes reserved) {
  Account& account = accounts_[at.index()];
  account.used = checked_add(account.used, used);
  account.reserved = checked_add(account.reserved, reserved);
  checked_add(account.used, account.reserved);
  account.known = true;
}

void Books::discharge(Location at, Bytes used, Bytes reserved) {
  Account& account = accounts_[at.index()];
  FHERES_CHECK(used <= account.used && reserved <= account.reserved);
  account.used -= used;
  account.reserved -= reserved;
}

void Books::note(Location at) {
  Account& account = accounts_[at.index()];
  if (account.charged() <= account.peak) return;
  account.peak = account.charged();
  account.peak_stage = stage_;
}

std::vector<LocationFigures> Books::figures() const {
  std::vector<LocationFigures> figures;
  for (const Account& account : accounts_) {
    if (!account.known) continue;
    figures.push_back(
        {account.at, account.budget, account.peak, account.peak_stage, account.charged(), account.compacted});
  }
  return figures;
}

}  // namespace fheres::verify
