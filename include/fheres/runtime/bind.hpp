#pragma once

#include <fheres/residency/lease.hpp>
#include <fheres/scheme/value_type.hpp>

namespace fheres::runtime {

/// A leased block as the CKKS view of what it is known to hold: the one bridge between residency and ckks. `View` is
/// ckks::CiphertextView, PlaintextView or KeyView. scheme::ParameterError where the type is of another kind, or does not
/// match the block's bytes. The view lives no longer than the lease.
template <class View>
View bind(const scheme::Parameters& parameters, const scheme::ValueType& type,
          const residency::BlockView& block) {
  return View(parameters, type, {block.data, block.spec->logical_bytes});
}

/// The same of what its metadata describes, which takes a microsecond to read; also refused where that is of other
/// parameters.
template <class View>
View bind(const scheme::Parameters& parameters, const residency::BlockView& block) {
  return bind<View>(parameters, scheme::decode_metadata(parameters, block.spec->metadata), block);
}

}  // namespace fheres::runtime
