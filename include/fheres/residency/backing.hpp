#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <fheres/base/bytes.hpp>
#include <fheres/memory/location.hpp>
#include <fheres/memory/stream.hpp>
#include <fheres/residency/lease.hpp>
#include <fheres/residency/spec.hpp>

namespace fheres::residency {

/// The block that an expansion fills: the value's logical_bytes, all of them, whatever they hold before.
struct ExpandTarget {
  memory::Location at = memory::Location::pageable_host();
  std::byte* data = nullptr;
  Bytes bytes = 0;
  std::shared_ptr<const ValueSpec> spec;
};

/// Makes a value out of its backing, at one location: `from` and `to` are both there (R66). Equal backings must
/// give equal values, wherever and whenever it runs: a value comes back as it was.
///
/// At a cuda location it queues its work in `stream`, which comes after whatever writes `from`, and returns
/// without waiting for it; both blocks stay where they are until the stream has passed that work. At a host
/// location the stream is empty, `from` is complete, and `to` must be written on return.
///
/// It is a part of the transition and no callback in the sense of R18: the manager stays open to everybody while
/// it runs, on the transition's thread, with the transition lock and no other. It may throw, also after it has
/// queued work, which undoes the transition (R20). It may look at the manager; what would need the transition
/// lock raises ReentrancyError. It is called once a transition, and never on two threads at a time.
using Expand =
    std::function<void(const BlockView& from, const ExpandTarget& to, const memory::Stream& stream)>;

}  // namespace fheres::residency
