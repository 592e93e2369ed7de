#pragma once

#include <fheres/residency/lease.hpp>
#include <fheres/scheme/value_type.hpp>

namespace fheres::runtime {

/// A leased block as the CKKS view that its metadata describes: the one bridge between residency and ckks. `View` is
/// ckks::CiphertextView, PlaintextView or KeyView. scheme::ParameterError where the metadata is of other parameters,
/// of another kind, or does not match the block's bytes. The view lives no longer than the lease.
template <class View>
View bind(const scheme::Parameters& parameters, const residency::BlockView& block) {
  const scheme::ValueType type = scheme::decode_metadata(parameters, block.spec->metadata);
  return View(parameters, type, {block.data, block.spec->logical_bytes});
}

}  // namespace fheres::runtime
