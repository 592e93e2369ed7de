// A profiler in thirty lines: NVTX loads it because NVTX_INJECTION64_PATH names it, and it writes every range of every
// domain to the file that FHERES_TEST_NVTX_LOG names: `+ domain: name` and `- domain`.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include <nvtx3/nvToolsExt.h>

namespace {

std::FILE* log_file = nullptr;
std::set<std::string> domains;

nvtxDomainHandle_t create_domain(const char* name) {
  return reinterpret_cast<nvtxDomainHandle_t>(const_cast<std::string*>(&*domains.insert(name).first));
}

const char* name_of(nvtxDomainHandle_t domain) {
  return reinterpret_cast<const std::string*>(domain)->c_str();
}

int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  std::fprintf(log_file, "+ %s %u: %s\n", name_of(domain), attributes->category, attributes->message.ascii);
  return 0;
}

int pop(nvtxDomainHandle_t domain) {
  std::fprintf(log_file, "- %s\n", name_of(domain));
  return 0;
}

template <class Function>
void install(NvtxFunctionTable table, int slot, Function function) {
  *table[slot] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  log_file = std::fopen(std::getenv("FHERES_TEST_NVTX_LOG"), "w");
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (log_file == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0)
    return 0;
  install(table, NVTX_CBID_CORE2_DomainCreateA, create_domain);
  install(table, NVTX_CBID_CORE2_DomainRangePushEx, push);
  install(table, NVTX_CBID_CORE2_DomainRangePop, pop);
  return 1;
}
