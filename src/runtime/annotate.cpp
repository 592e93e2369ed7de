#include "annotate.hpp"

#include <cstdint>

#ifdef FHERES_HAS_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace fheres::runtime {

#ifdef FHERES_HAS_NVTX

namespace {

// Looks for a profiler once, at the first range of the process.
nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t handle = [] {
    const nvtxDomainHandle_t made = nvtxDomainCreateA("fheres");
    const auto describe = [made](Annotation::Kind kind, const char* name) {
      nvtxDomainNameCategoryA(made, static_cast<std::uint32_t>(kind) + 1, name);  // 0 stands for none
    };
    describe(Annotation::Kind::stage, "stage");
    describe(Annotation::Kind::phase, "phase");
    describe(Annotation::Kind::operation, "operation");
    return made;
  }();
  return handle;
}

}  // namespace

Annotation::Annotation(Kind kind, const std::string& name) {
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.category = static_cast<std::uint32_t>(kind) + 1;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name.c_str();
  nvtxDomainRangePushEx(domain(), &attributes);
}

Annotation::~Annotation() { nvtxDomainRangePop(domain()); }

#else

Annotation::Annotation(Kind, const std::string&) {}
Annotation::~Annotation() = default;

#endif

}  // namespace fheres::runtime
