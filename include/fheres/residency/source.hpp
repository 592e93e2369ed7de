#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <fheres/memory/block.hpp>
#include <fheres/memory/driver.hpp>
#include <fheres/residency/spec.hpp>

namespace fheres::residency {

/// What a source may use while it loads. Every public operation of the manager is closed meanwhile (R18).
class LoadContext {
 public:
  /// `make` gives blocks of the region; without it, whatever the region has in one piece.
  LoadContext(const ValueSpec& spec, std::shared_ptr<memory::Region> region, memory::Stream stream,
              std::function<memory::Block(Bytes)> make = {})
      : spec_(spec), region_(std::move(region)), stream_(std::move(stream)), make_(std::move(make)) {}

  const ValueSpec& spec() const { return spec_; }
  /// Where the block has to be.
  memory::Location at() const { return region_->at(); }
  memory::Driver& driver() const { return *region_->driver(); }
  /// Only at a cuda location: the transition's stream. Work that load() leaves in it is waited for.
  const memory::Stream& stream() const { return stream_; }
  /// Storage out of the charge that was made for this load: together at most the specification's
  /// storage_bytes, else MaterializationError. FragmentedError when protected blocks keep the region from having
  /// such a piece.
  memory::Block allocate(Bytes bytes);
  memory::Block allocate() { return allocate(spec_.logical_bytes); }

 private:
  const ValueSpec& spec_;
  std::shared_ptr<memory::Region> region_;
  memory::Stream stream_;
  std::function<memory::Block(Bytes)> make_;
  Bytes allocated_ = 0;
};

/// What a source hands over: at the source's location, between logical_bytes and storage_bytes long, and
/// written by work that is complete or in LoadContext::stream. An empty type means the specification's.
struct Loaded {
  Loaded(memory::Block made) : block(std::move(made)) {}  // NOLINT: a block alone is the usual case
  Loaded(memory::Block made, std::string made_type) : block(std::move(made)), type(std::move(made_type)) {}
  memory::Block block;
  std::string type;
};

/// Brings a reconstructible value back (R5, R16). Called on the thread that runs the transition, without any
/// lock but the transition lock. May throw: the transition is undone and the registration survives (R17).
using Source = std::function<Loaded(LoadContext&)>;

}  // namespace fheres::residency
