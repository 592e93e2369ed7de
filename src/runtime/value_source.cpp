#include <fheres/base/check.hpp>
#include <fheres/ckks/expansion.hpp>
#include <fheres/runtime/value_source.hpp>

namespace fheres::runtime {
namespace {

template <ckks::Family family>
void expand(const ckks::Context& host, const ckks::ValueFile& file, const workload::Value& value,
            const scheme::ValueType& stored, std::span<std::byte> out) {
  ckks::HostValue<family> half(host.parameters(), stored);
  ckks::HostValue<family> full(host.parameters(), *value.type);
  file.read(value.client_name, stored, half.bytes());
  ckks::expand(host, half.view(), full.ref(), {});
  std::copy(full.bytes().begin(), full.bytes().end(), out.begin());
}

}  // namespace

ValueFiles::ValueFiles(const scheme::Parameters& parameters) : host_(ckks::Context::on_host(parameters)) {}

const ckks::ValueFile& ValueFiles::open(const std::string& path) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<const ckks::ValueFile>& file = files_[path];
  if (file == nullptr) file = std::make_unique<const ckks::ValueFile>(host_.parameters(), path);
  return *file;
}

void ValueFiles::read(const workload::Value& value, std::span<std::byte> out) {
  FHERES_CHECK(value.file && value.type);
  const ckks::ValueFile& file = open(*value.file);
  const ckks::StoredValue* stored = file.find(value.client_name);
  const bool expands =
      stored != nullptr && scheme::is_seeded(stored->type) && !scheme::is_seeded(*value.type);
  if (!expands) return file.read(value.client_name, *value.type, out);
  if (scheme::is_key(value.type->kind)) {
    expand<ckks::Family::key>(host_, file, value, stored->type, out);
  } else {
    expand<ckks::Family::ciphertext>(host_, file, value, stored->type, out);
  }
}

}  // namespace fheres::runtime
