#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <fheres/workload/model.hpp>

namespace fheres::bench {

/// Synthetic workloads of opaque bytes, the same on every machine. Values start at pinned-host, stages run at cuda:0,
/// results leave to pinned-host or pageable-host; cuda:0 has no budget yet.
struct Family {
  std::string name;
  workload::Workload workload;
  Bytes smallest = 0;  // of cuda:0, below which some stage alone does not fit
  Bytes total = 0;     // of all values
};

/// The same rotation keys in the same order, again and again, at falling levels: the worst case for LRU.
Family key_reuse(std::size_t stages, std::size_t values);
/// Layers of tiles: weights once a batch, keys in every layer, activations made by one layer and released by the next.
Family layered(std::size_t stages, std::size_t values);
/// Values drawn with very different frequencies and sizes; one stage in four makes a value that some later stage reads.
Family random_uses(std::size_t stages, std::size_t values);

}  // namespace fheres::bench
