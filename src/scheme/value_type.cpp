#include <array>
#include <charconv>
#include <map>

#include <fmt/format.h>

#include <fheres/scheme/value_type.hpp>

namespace fheres::scheme {
namespace {

constexpr std::array<std::string_view, 5> kKinds{"ciphertext", "plaintext", "rotation-key", "conjugation-key",
                                                 "relinearization-key"};
constexpr std::array<std::string_view, 2> kDomains{"coefficient", "ntt"};
constexpr std::array<std::string_view, 2> kBasisWords{"q", "qp"};
constexpr std::array<std::string_view, 3> kPlaintextForms{"prepared", "prepared-qp", "compact"};
constexpr std::array<std::string_view, 2> kKeyForms{"full", "seeded"};
constexpr std::array<std::string_view, 2> kCiphertextForms{"full", "seeded"};
constexpr Bytes kSeedBytes = 32;
constexpr std::string_view kMagic = "ckks/1";

template <class Enum, std::size_t n>
std::string_view word(const std::array<std::string_view, n>& words, Enum value) {
  return words[static_cast<std::size_t>(value)];
}

[[noreturn]] void bad_metadata(const std::string& why) {
  throw ParameterError(fmt::format("this is no metadata of a value: {}", why));
}

/// `name=word` pairs, each read exactly once.
class Fields {
 public:
  explicit Fields(std::string_view text) {
    while (!text.empty()) {
      const std::string_view item = text.substr(0, text.find(' '));
      text.remove_prefix(std::min(text.size(), item.size() + 1));
      const auto equals = item.find('=');
      if (equals == item.npos) bad_metadata(fmt::format("`{}` has no `=`", item));
      if (!fields_.emplace(item.substr(0, equals), item.substr(equals + 1)).second) {
        bad_metadata(fmt::format("`{}` stands twice", item.substr(0, equals)));
      }
    }
  }

  std::string_view text(std::string_view name) {
    const auto found = fields_.find(name);
    if (found == fields_.end()) bad_metadata(fmt::format("`{}` is missing", name));
    const std::string_view value = found->second;
    fields_.erase(found);
    return value;
  }

  template <class Enum, std::size_t n>
  Enum choice(std::string_view name, const std::array<std::string_view, n>& words) {
    const std::string_view value = text(name);
    for (std::size_t i = 0; i < n; ++i) {
      if (words[i] == value) return static_cast<Enum>(i);
    }
    bad_metadata(fmt::format("`{}` is no {}", value, name));
  }

  template <class Number>
  Number number(std::string_view name) {
    return number_in<Number>(name, text(name), 10);
  }

  template <class Number>
  static Number number_in(std::string_view name, std::string_view value, int base) {
    Number result = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result, base);
    if (error != std::errc{} || end != value.data() + value.size()) {
      bad_metadata(fmt::format("{} is `{}`, expected a number", name, value));
    }
    return result;
  }

  void finish() const {
    if (!fields_.empty()) bad_metadata(fmt::format("`{}` is unknown", fields_.begin()->first));
  }

 private:
  std::map<std::string_view, std::string_view> fields_;
};

void check_range(const Parameters& parameters, const ValueType& type) {
  if (type.level < 0 || type.level > parameters.max_level()) {
    bad_metadata(fmt::format("level is {}, expected 0 to {}", type.level, parameters.max_level()));
  }
  if (type.components < 1 || type.components > 3) {
    bad_metadata(fmt::format("components is {}, expected 1 to 3", type.components));
  }
  if (type.ciphertext_form == CiphertextForm::seeded &&
      (type.kind != Kind::ciphertext || type.components != 2)) {
    bad_metadata(fmt::format("a {} of {} components is seeded, expected a ciphertext of 2", name(type.kind),
                             type.components));
  }
  if (type.key_form == KeyForm::seeded && !is_key(type.kind)) {
    bad_metadata(fmt::format("a {} is a seeded key", name(type.kind)));
  }
  if (type.kind == Kind::rotation_key &&
      (type.steps < 1 || static_cast<std::uint64_t>(type.steps) >= parameters.slots())) {
    bad_metadata(fmt::format("steps is {}, expected 1 to {}", type.steps, parameters.slots() - 1));
  }
}

ValueType key_type(Kind kind, int level) {
  ValueType type;
  type.kind = kind;
  type.level = level;
  type.basis = Basis::qp;
  return type;
}

}  // namespace

std::string name(Kind kind) { return std::string(word(kKinds, kind)); }

bool is_key(Kind kind) { return kind != Kind::ciphertext && kind != Kind::plaintext; }

ValueType ciphertext_type(const Parameters& parameters, int level) {
  ValueType type;
  type.level = level;
  type.scale = parameters.canonical_scale(level);
  return type;
}

ValueType plaintext_type(const Parameters& parameters, int level, const Scale& scale, PlaintextForm form) {
  ValueType type = ciphertext_type(parameters, level);
  type.kind = Kind::plaintext;
  type.scale = scale;
  type.components = 1;
  type.plaintext_form = form;
  if (form == PlaintextForm::prepared_qp) type.basis = Basis::qp;
  if (form == PlaintextForm::compact) type.domain = Domain::coefficient;
  return type;
}

ValueType rotation_key_type(const Parameters& parameters, std::int64_t steps, int level) {
  const auto slots = static_cast<std::int64_t>(parameters.slots());
  ValueType type = key_type(Kind::rotation_key, level);
  type.steps = static_cast<int>((steps % slots + slots) % slots);
  if (type.steps == 0) {
    throw ParameterError(fmt::format("a rotation by {} steps moves nothing in {} slots", steps, slots));
  }
  return type;
}

ValueType conjugation_key_type(int level) { return key_type(Kind::conjugation_key, level); }
ValueType relinearization_key_type(int level) { return key_type(Kind::relinearization_key, level); }

bool is_seeded(const ValueType& type) {
  return is_key(type.kind) ? type.key_form == KeyForm::seeded
                           : type.ciphertext_form == CiphertextForm::seeded;
}

ValueType seeded_form(const ValueType& type) {
  ValueType seeded = type;
  if (is_key(type.kind)) {
    seeded.key_form = KeyForm::seeded;
  } else if (type.kind == Kind::ciphertext && type.components == 2) {
    seeded.ciphertext_form = CiphertextForm::seeded;
  } else {
    throw ParameterError(
        fmt::format("a {} of {} components has no seeded form", name(type.kind), type.components));
  }
  return seeded;
}

ValueType full_form(const ValueType& type) {
  ValueType full = type;
  full.key_form = KeyForm::full;
  full.ciphertext_form = CiphertextForm::full;
  return full;
}

Bytes bytes_of(const Parameters& parameters, const ValueType& type) {
  const Bytes limb = 8 * parameters.n();
  const auto l = static_cast<Bytes>(parameters.limbs(type.level));
  const Bytes u = l + static_cast<Bytes>(parameters.special_limbs());
  if (type.kind == Kind::ciphertext) {
    if (type.ciphertext_form == CiphertextForm::seeded) return l * limb + kSeedBytes;
    return static_cast<Bytes>(type.components) * l * limb;
  }
  if (type.kind == Kind::plaintext) {
    if (type.plaintext_form == PlaintextForm::compact) return limb;
    return (type.plaintext_form == PlaintextForm::prepared_qp ? u : l) * limb;
  }
  const Bytes half = static_cast<Bytes>(parameters.digits(type.level)) * u * limb;
  return type.key_form == KeyForm::full ? 2 * half : half + kSeedBytes;
}

std::string encode_metadata(const Parameters& parameters, const ValueType& type) {
  return fmt::format(
      "{} parameters={} kind={} level={} scale={:016x}{:016x} exponent={} domain={} basis={} components={} "
      "plaintext={} key={} ciphertext={} steps={}",
      kMagic, parameters.id(), word(kKinds, type.kind), type.level, type.scale.mantissa_high(),
      type.scale.mantissa_low(), type.scale.exponent(), word(kDomains, type.domain),
      word(kBasisWords, type.basis), type.components, word(kPlaintextForms, type.plaintext_form),
      word(kKeyForms, type.key_form), word(kCiphertextForms, type.ciphertext_form), type.steps);
}

ValueType decode_metadata(const Parameters& parameters, const std::string& metadata) {
  std::string_view text = metadata;
  if (!text.starts_with(kMagic) || text.substr(kMagic.size(), 1) != " ") {
    bad_metadata(fmt::format("expected it to start with `{} `", kMagic));
  }
  Fields fields(text.substr(kMagic.size() + 1));
  const std::string_view id = fields.text("parameters");
  if (id != parameters.id()) {
    throw ParameterError(
        fmt::format("the value was made for parameters {}, these are {}", id, parameters.id()));
  }
  ValueType type;
  type.kind = fields.choice<Kind>("kind", kKinds);
  type.level = fields.number<int>("level");
  const std::string_view mantissa = fields.text("scale");
  if (mantissa.size() != 32) bad_metadata(fmt::format("scale `{}` has not 32 digits", mantissa));
  const auto high = Fields::number_in<std::uint64_t>("scale", mantissa.substr(0, 16), 16);
  const auto low = Fields::number_in<std::uint64_t>("scale", mantissa.substr(16), 16);
  if (high >> 63 == 0) bad_metadata(fmt::format("scale `{}` has not its top bit set", mantissa));
  type.scale = Scale::from_parts(high, low, fields.number<int>("exponent"));
  type.domain = fields.choice<Domain>("domain", kDomains);
  type.basis = fields.choice<Basis>("basis", kBasisWords);
  type.components = fields.number<int>("components");
  type.plaintext_form = fields.choice<PlaintextForm>("plaintext", kPlaintextForms);
  type.key_form = fields.choice<KeyForm>("key", kKeyForms);
  type.ciphertext_form = fields.choice<CiphertextForm>("ciphertext", kCiphertextForms);
  type.steps = fields.number<int>("steps");
  fields.finish();
  check_range(parameters, type);
  return type;
}

}  // namespace fheres::scheme
