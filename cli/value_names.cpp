#include "value_names.hpp"

#include <fmt/format.h>

namespace fheres::cli {

std::vector<workload::ValueIndex> keys_of(const workload::World& world) {
  std::vector<workload::ValueIndex> keys;
  for (workload::ValueIndex i = 0; i < world.values.size(); ++i) {
    const workload::Value& value = world.values[i];
    // Of a seeded key the client makes the half with the seed, which stands in the place of the whole.
    const workload::ValueIndex made = value.backing.value_or(i);
    if (value.produced_by || !value.type || !scheme::is_key(value.type->kind)) continue;
    if (scheme::is_seeded(*value.type)) continue;
    keys.push_back(made);
  }
  return keys;
}

std::vector<workload::ValueIndex> inputs_of(const workload::World& world) {
  std::vector<workload::ValueIndex> inputs;
  for (workload::ValueIndex i = 0; i < world.values.size(); ++i) {
    const workload::Value& value = world.values[i];
    if (!value.produced_by && value.type && value.type->kind == scheme::Kind::ciphertext) inputs.push_back(i);
  }
  return inputs;
}

std::string file_name(const std::string& value) {
  std::string name;
  for (const char c : value) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       c == '-' || c == '_' || (c == '.' && !name.empty());
    name += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return name + ".safetensors";
}

std::filesystem::path path_of(const workload::Value& value, const std::filesystem::path& folder) {
  return value.file ? std::filesystem::path(*value.file) : folder / file_name(value.client_name);
}

}  // namespace fheres::cli
