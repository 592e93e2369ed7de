// Compaction of a region: blocks slide through storage that everybody else goes on using.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/memory/block.hpp>
#include <fheres/memory/poison.hpp>

#include "memory/pieces.hpp"

namespace fheres::memory {
namespace {

// A slide by less than this goes through a wider gap, if there is one: many small copies are slower than two large
// ones.
constexpr Bytes kWorthACopy = kMiB;

std::vector<ArenaPiece> gaps_of(const Compaction& plan) {
  std::vector<ArenaPiece> gaps;
  Bytes here = plan.window.offset;
  for (const Slide& slide : plan.slides) {
    gaps.push_back({here, slide.from - here});
    here = slide.from + slide.bytes;
  }
  gaps.push_back({here, plan.window.end() - here});
  std::erase_if(gaps, [](const ArenaPiece& gap) { return gap.bytes == 0; });
  return gaps;
}

}  // namespace

// ---- Region's part

Arena Region::arena() const {
  FHERES_CHECK(has_arena());
  const std::lock_guard lock(pieces_->mutex);
  Arena copy = pieces_->pieces.front().arena;
  for (const ArenaPiece& gap : pieces_->claimed) copy.free(gap.offset, gap.bytes);
  return copy;
}

Bytes Region::offset_of(const Block& block) const {
  FHERES_CHECK(block.region_.get() == this && has_arena());
  if (block.data_ == nullptr) return 0;
  if (!pieces_->apart) return static_cast<Bytes>(block.data_ - pieces_->pieces.front().data);
  const std::lock_guard lock(pieces_->mutex);
  return pieces_->offsets.at(block.data_);
}

std::variant<Relocation, Obstruction> Region::relocate(std::span<Block* const> movable, Bytes wanted) {
  FHERES_CHECK(has_arena());
  std::vector<ArenaPiece> pieces;
  pieces.reserve(movable.size());
  for (const Block* block : movable) pieces.push_back({offset_of(*block), block->bytes()});
  const std::lock_guard lock(pieces_->mutex);
  FHERES_CHECK(pieces_->claimed.empty());
  Arena& own = pieces_->pieces.front().arena;
  auto planned = own.plan_compaction(pieces, wanted);
  if (auto* why = std::get_if<Obstruction>(&planned)) return std::move(*why);
  Compaction& plan = std::get<Compaction>(planned);
  std::vector<ArenaPiece> gaps = gaps_of(plan);
  Relocation relocation(shared_from_this(), std::move(plan), movable);
  for (const ArenaPiece& gap : gaps) own.claim(gap.offset, gap.bytes);
  pieces_->claimed = std::move(gaps);
  return relocation;
}

// ---- Relocation

Relocation::Relocation(std::shared_ptr<Region> region, Compaction plan, std::span<Block* const> movable)
    : region_(std::move(region)), plan_(std::move(plan)) {
  blocks_.reserve(plan_.slides.size());
  for (const Slide& slide : plan_.slides) blocks_.push_back(movable[slide.piece]);
}

Relocation::Relocation(Relocation&& other) noexcept
    : region_(std::exchange(other.region_, nullptr)),
      plan_(std::move(other.plan_)),
      blocks_(std::move(other.blocks_)),
      copies_(std::move(other.copies_)),
      lost_(other.lost_) {}

Relocation::~Relocation() {
  if (!region_) return;
  const std::lock_guard lock(region_->pieces_->mutex);
  for (std::size_t k = 0; k < copies_.size(); ++k)
    region_->pieces_->give_back(*region_->driver_, region_->at_, copies_[k], blocks_[k]->bytes_);
  if (lost_) {
    region_->pieces_->claimed.clear();  // taken for good: a copy may still run there
    return;
  }
  for (const ArenaPiece& gap : region_->pieces_->claimed) {
    hide_free(gap.offset, gap.bytes);
    region_->pieces_->pieces.front().arena.free(gap.offset, gap.bytes);
  }
  region_->pieces_->claimed.clear();
  hide_tails();
}

// The copies, none of which overlaps itself. Each one reads only what no earlier one has left behind, and writes only
// what no later one needs; so running them backwards the other way restores everything.
std::vector<Relocation::Step> Relocation::steps() const {
  std::vector<Step> list;
  for (std::size_t k = 0; k < plan_.slides.size(); ++k) {
    const Slide& slide = plan_.slides[k];
    const Bytes distance = slide.from - slide.to;
    ArenaPiece through;  // the widest gap above this piece
    for (std::size_t i = k; i < plan_.slides.size(); ++i) {
      const Bytes start = plan_.slides[i].from + plan_.slides[i].bytes;
      const Bytes end = i + 1 < plan_.slides.size() ? plan_.slides[i + 1].from : plan_.window.end();
      if (end - start > through.bytes) through = {start, end - start};
    }
    const bool detour = distance < std::min(slide.bytes, kWorthACopy) && through.bytes / 2 > distance;
    const Bytes most = std::min(slide.bytes, detour ? through.bytes : distance);
    for (Bytes done = 0; done < slide.bytes; done += most) {
      const Bytes bytes = std::min(most, slide.bytes - done);
      if (detour) {
        list.push_back({through.offset, slide.from + done, bytes});
        list.push_back({slide.to + done, through.offset, bytes});
      } else {
        list.push_back({slide.to + done, slide.from + done, bytes});
      }
    }
  }
  return list;
}

void Relocation::copy_one(const Stream& stream, Bytes to, Bytes from, Bytes bytes) const {
  std::byte* base = region_->pieces_->pieces.front().data;
  copy_extent(stream, {region_->at_, base + to, bytes}, {region_->at_, base + from, bytes});
}

void Relocation::copy_extent(const Stream& stream, const Extent& destination, const Extent& source) const {
  if (stream) {
    region_->driver_->copy(stream, destination, source);
  } else {
    region_->driver_->copy_host(destination, source);
  }
}

void Relocation::copy(const Stream& stream) {
  FHERES_CHECK(region_ != nullptr && static_cast<bool>(stream) == region_->at_.is_cuda());
  if (region_->pieces_->apart) return copy_apart(stream);
  const std::vector<Step> all = steps();
  make_addressable();
  std::size_t done = 0;
  try {
    for (const Step& step : all) {
      copy_one(stream, step.to, step.from, step.bytes);
      ++done;
    }
    if (stream && !all.empty()) region_->driver_->synchronize(stream);
  } catch (...) {
    try {
      undo(stream, std::span(all).first(done));
    } catch (const std::exception& e) {
      lost_ = true;
      throw DeviceError(kLost, fmt::format("{} at {} could not be put back: {}", format_exact_bytes(bytes()),
                                           region_->at_.name(), e.what()));
    }
    throw;
  }
}

// Blocks that are allocations of their own: the old ones stay whole until commit, so there is nothing to put back.
void Relocation::copy_apart(const Stream& stream) {
  copies_.reserve(blocks_.size());
  try {
    for (const Block* block : blocks_) {
      copies_.push_back(region_->pieces_->take(*region_->driver_, region_->at_, block->bytes_));
      copy_extent(stream, {region_->at_, copies_.back(), block->bytes_}, block->extent());
    }
    if (stream && !copies_.empty()) region_->driver_->synchronize(stream);
  } catch (...) {
    try {
      if (stream) region_->driver_->synchronize(stream);
    } catch (...) {
      copies_.clear();  // a copy may still run there: kept until the process ends
    }
    throw;
  }
}

void Relocation::undo(const Stream& stream, std::span<const Step> done) const {
  if (done.empty()) return;
  if (stream) region_->driver_->synchronize(stream);
  for (auto step = done.rbegin(); step != done.rend(); ++step)
    copy_one(stream, step->from, step->to, step->bytes);
  if (stream) region_->driver_->synchronize(stream);
}

void Relocation::commit() {
  FHERES_CHECK(region_ != nullptr && !lost_);
  const std::lock_guard lock(region_->pieces_->mutex);
  Piece& piece = region_->pieces_->pieces.front();
  piece.arena.free(plan_.window.offset, plan_.window.bytes);
  Bytes end = plan_.window.offset;
  for (std::size_t k = 0; k < plan_.slides.size(); ++k) {
    const Slide& slide = plan_.slides[k];
    piece.arena.claim(slide.to, slide.bytes);
    if (region_->pieces_->apart) {
      settle_apart(*blocks_[k], copies_[k], slide.to);
    } else {
      blocks_[k]->data_ = piece.data + slide.to;
    }
    end = slide.to + slide.bytes;
  }
  copies_.clear();
  region_->pieces_->claimed.clear();
  hide_free(end, plan_.window.end() - end);
  hide_tails();
  region_.reset();
}

void Relocation::settle_apart(Block& block, std::byte* copy, Bytes offset) const {
  Region::Pieces& pieces = *region_->pieces_;
  std::byte* before = std::exchange(block.data_, copy);
  // The node is used again: nothing may fail here.
  auto node = pieces.offsets.extract(before);
  node.key() = copy;
  node.mapped() = offset;
  pieces.offsets.insert(std::move(node));
  pieces.give_back(*region_->driver_, region_->at_, before, block.bytes_);
}

// ---- Poison

void Relocation::make_addressable() const {
  if (!region_->pieces_->has_gaps()) return;
  unpoison(region_->pieces_->pieces.front().data + plan_.window.offset, plan_.window.bytes);
}

void Relocation::hide_free(Bytes offset, Bytes bytes) const {
  if (!region_->pieces_->has_gaps()) return;
  // A gap that was not used is poisoned already, and may not be touched.
  unpoison(region_->pieces_->pieces.front().data + offset, bytes);
  poison(region_->pieces_->pieces.front().data + offset, bytes, true);
}

// The rest of a block's last granule stays a red zone.
void Relocation::hide_tails() const {
  if (!region_->pieces_->has_gaps()) return;
  for (const Block* block : blocks_)
    poison(block->data_ + block->bytes_, round_up_to_granule(block->bytes_) - block->bytes_, false);
}

}  // namespace fheres::memory
