#pragma once

#include <string>

namespace fheres::runtime {

/// A range on the calling thread's row of a profiler: NVTX domain `fheres`, category `kind`, from construction to
/// destruction. Ranges of a thread nest. Without a profiler it costs a branch; built without CUDA it does nothing.
class Annotation {
 public:
  enum class Kind { stage, phase, operation };

  Annotation(Kind kind, const std::string& name);
  ~Annotation();
  Annotation(const Annotation&) = delete;
  Annotation& operator=(const Annotation&) = delete;
};

}  // namespace fheres::runtime
