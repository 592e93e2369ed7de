#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/ckks/value_file.hpp>
#include <fheres/ring/backend.hpp>

namespace fheres::ckks {
namespace {

constexpr std::string_view kFormat = "fheres/values/v1";
constexpr std::string_view kSeedSuffix = ".seed";
constexpr std::string_view kValuePrefix = "value:";

std::uint64_t count(int value) { return static_cast<std::uint64_t>(value); }

/// What stands in the limbs of a value, and how many polynomials each has.
struct Rows {
  int first_prime = 0;  // counted as Parameters::prime does, but special primes first
  int limbs = 0;
  std::vector<std::uint64_t> inner;  // shape between limb and coefficient
};

Rows rows_of(const scheme::Parameters& parameters, const scheme::ValueType& type) {
  const int special = parameters.special_limbs();
  const int limbs = parameters.limbs(type.level);
  if (scheme::is_key(type.kind)) {
    const std::uint64_t digits = count(parameters.digits(type.level));
    Rows rows{0, special + limbs, {2, digits}};
    if (scheme::is_seeded(type)) rows.inner = {digits};
    return rows;
  }
  if (type.kind == scheme::Kind::plaintext) {
    if (type.plaintext_form == scheme::PlaintextForm::compact) return {};
    const bool extended = type.plaintext_form == scheme::PlaintextForm::prepared_qp;
    return {extended ? 0 : special, extended ? special + limbs : limbs, {}};
  }
  Rows rows{special, limbs, {count(type.components)}};
  if (scheme::is_seeded(type)) rows.inner.clear();
  return rows;
}

std::vector<Tensor> tensors_of(const scheme::Parameters& parameters, const StoredValue& value) {
  const Rows rows = rows_of(parameters, value.type);
  Tensor residues{.name = value.name, .dtype = "U64", .shape = {}};
  if (rows.limbs == 0) {
    residues.dtype = "I64";
  } else {
    residues.shape.push_back(count(rows.limbs));
    residues.shape.insert(residues.shape.end(), rows.inner.begin(), rows.inner.end());
  }
  residues.shape.push_back(parameters.n());
  std::vector<Tensor> tensors{std::move(residues)};
  if (scheme::is_seeded(value.type)) {
    tensors.push_back(
        {.name = value.name + std::string(kSeedSuffix), .dtype = "U8", .shape = {ring::kSeedBytes}});
  }
  return tensors;
}

/// `a rotation-key of level 3 in seeded form by 1 steps`
std::string describe(const scheme::ValueType& type) {
  std::string text = fmt::format("a {}{} of level {}", scheme::is_seeded(type) ? "seeded " : "",
                                 scheme::name(type.kind), type.level);
  if (type.kind == scheme::Kind::rotation_key) return text + fmt::format(" by {} steps", type.steps);
  if (scheme::is_key(type.kind)) return text;
  return text + fmt::format(" with {} components at scale {}", type.components, type.scale.text());
}

/// Whether the tensor is the expected one, but for its place.
bool same(const Tensor& a, const Tensor& b) {
  return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape;
}

std::map<std::string, std::string> metadata_of(const scheme::Parameters& parameters,
                                               const std::vector<StoredValue>& values) {
  std::map<std::string, std::string> metadata{{"format", std::string(kFormat)},
                                              {"parameters", parameters.id()}};
  for (const StoredValue& value : values) {
    metadata.emplace(std::string(kValuePrefix) + value.name, scheme::encode_metadata(parameters, value.type));
  }
  return metadata;
}

std::vector<Tensor> all_tensors(const scheme::Parameters& parameters,
                                const std::vector<StoredValue>& values) {
  std::vector<Tensor> tensors;
  for (const StoredValue& value : values) {
    for (Tensor& tensor : tensors_of(parameters, value)) tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace

ValueFile::ValueFile(const scheme::Parameters& parameters, const std::filesystem::path& path)
    : parameters_(parameters), file_(path) {
  const auto refuse = [&](const std::string& why) {
    throw FileError(fmt::format("{}: {}", path.string(), why));
  };
  if (const std::string& format = file_.metadata("format"); format != kFormat) {
    refuse(fmt::format("its format is `{}`, expected `{}`", format.substr(0, 40), kFormat));
  }
  if (const std::string& id = file_.metadata("parameters"); id != parameters.id()) {
    throw scheme::ParameterError(fmt::format("{}: its values were made for parameters {}, these are {}",
                                             path.string(), id.substr(0, 40), parameters.id()));
  }
  std::size_t owned = 0;
  for (const auto& [key, text] : file_.metadata()) {
    if (!key.starts_with(kValuePrefix)) continue;
    StoredValue value{key.substr(kValuePrefix.size()), {}};
    try {
      value.type = scheme::decode_metadata(parameters, text);
    } catch (const scheme::ParameterError& error) {
      refuse(fmt::format("value `{}`: {}", value.name, error.what()));
    }
    const std::vector<Tensor> expected = tensors_of(parameters, value);
    Bytes next = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Tensor* found = file_.find(expected[i].name);
      if (found == nullptr) refuse(fmt::format("it has no tensor `{}`", expected[i].name));
      if (!same(*found, expected[i])) {
        refuse(fmt::format("tensor `{}` is {} [{}], expected {} [{}] for {}", found->name, found->dtype,
                           fmt::join(found->shape, ", "), expected[i].dtype,
                           fmt::join(expected[i].shape, ", "), describe(value.type)));
      }
      if (i > 0 && found->begin != next) {
        refuse(fmt::format("tensor `{}` does not stand behind `{}`", found->name, value.name));
      }
      next = found->end;
    }
    owned += expected.size();
    values_.push_back(std::move(value));
  }
  // No tensor can be owned twice: `x.seed` would be both U64 and U8.
  if (owned != file_.tensors().size()) {
    refuse(fmt::format("it has {} tensors, and its values are made of {}", file_.tensors().size(), owned));
  }
}

const StoredValue* ValueFile::find(std::string_view name) const {
  const auto found =
      std::lower_bound(values_.begin(), values_.end(), name,
                       [](const StoredValue& value, std::string_view other) { return value.name < other; });
  return found == values_.end() || found->name != name ? nullptr : &*found;
}

void ValueFile::read(std::string_view name, const scheme::ValueType& type, std::span<std::byte> out) const {
  const auto refuse = [&](const std::string& why) {
    throw FileError(fmt::format("{}: {}", path().string(), why));
  };
  const StoredValue* value = find(name);
  if (value == nullptr) refuse(fmt::format("it has no value `{}`", name));
  if (value->type != type) {
    refuse(fmt::format("`{}` is {}, expected {}", name, describe(value->type), describe(type)));
  }
  FHERES_CHECK(out.size() == scheme::bytes_of(parameters_, type));
  const Tensor& tensor = *file_.find(name);
  const std::span<const std::byte> in = file_.payload().subspan(tensor.begin, out.size());
  std::copy(in.begin(), in.end(), out.begin());
  const Rows rows = rows_of(parameters_, type);
  if (rows.limbs == 0) return;
  const std::uint64_t words = (tensor.end - tensor.begin) / sizeof(std::uint64_t) / count(rows.limbs);
  const auto* residues = reinterpret_cast<const std::uint64_t*>(out.data());
  for (int limb = 0; limb < rows.limbs; ++limb) {
    const int index = rows.first_prime + limb - parameters_.special_limbs();
    const scheme::Modulus& prime = index < 0
                                       ? parameters_.p()[static_cast<std::size_t>(rows.first_prime + limb)]
                                       : parameters_.q()[static_cast<std::size_t>(index)];
    const std::uint64_t* row = residues + static_cast<std::uint64_t>(limb) * words;
    const std::uint64_t* largest = std::max_element(row, row + words);
    if (*largest >= prime.value) {
      refuse(fmt::format("`{}` has the residue {} in limb {}, expected less than {}", name, *largest, limb,
                         prime.value));
    }
  }
}

ValueFileWriter::ValueFileWriter(const scheme::Parameters& parameters, const std::filesystem::path& path,
                                 std::vector<StoredValue> values)
    : writer_(path, all_tensors(parameters, values), metadata_of(parameters, values)) {
  for (const StoredValue& value : values) sizes_.push_back(scheme::bytes_of(parameters, value.type));
}

void ValueFileWriter::write(std::span<const std::byte> bytes) {
  FHERES_CHECK(next_ < sizes_.size() && bytes.size() == sizes_[next_]);
  writer_.write(bytes);
  ++next_;
}

void save_value(const scheme::Parameters& parameters, const std::filesystem::path& path,
                const StoredValue& value, std::span<const std::byte> bytes) {
  ValueFileWriter writer(parameters, path, {value});
  writer.write(bytes);
  writer.finish();
}

}  // namespace fheres::ckks
