#include <cstdlib>
#include <new>

#include <fmt/format.h>

#include <fheres/ckks/value.hpp>

namespace fheres::ckks {
namespace {

const char* name(Family family) {
  switch (family) {
    case Family::ciphertext:
      return "ciphertext";
    case Family::plaintext:
      return "plaintext";
    case Family::key:
      break;
  }
  return "key";
}

Family family_of(scheme::Kind kind) {
  if (kind == scheme::Kind::ciphertext) return Family::ciphertext;
  return kind == scheme::Kind::plaintext ? Family::plaintext : Family::key;
}

}  // namespace

void check_storage(const scheme::Parameters& parameters, Family family, const scheme::ValueType& type,
                   Bytes bytes) {
  if (family_of(type.kind) != family) {
    throw scheme::ParameterError(
        fmt::format("expected a {}, got a value of kind {}", name(family), scheme::name(type.kind)));
  }
  const Bytes expected = scheme::bytes_of(parameters, type);
  if (bytes != expected) {
    throw scheme::ParameterError(fmt::format("a {} of level {} has {} bytes, got storage of {}",
                                             scheme::name(type.kind), type.level, expected, bytes));
  }
}

template <Family family>
HostValue<family>::HostValue(const scheme::Parameters& parameters, const scheme::ValueType& type)
    : parameters_(parameters), type_(type), bytes_(scheme::bytes_of(parameters, type)) {
  check_storage(parameters, family, type, bytes_);
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(kGranule, round_up_to_granule(bytes_))));
  if (data_ == nullptr) throw std::bad_alloc();
}

template <Family family>
void HostValue<family>::Free::operator()(std::byte* data) const noexcept {
  std::free(data);
}

template class HostValue<Family::ciphertext>;
template class HostValue<Family::plaintext>;
template class HostValue<Family::key>;

}  // namespace fheres::ckks
