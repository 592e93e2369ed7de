#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fheres/base/check.hpp>
#include <fheres/ckks/serialize.hpp>

namespace fheres::ckks {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr Bytes kMaxHeader = 16 * kMiB;
constexpr Bytes kLengthBytes = 8;
constexpr Bytes kMaxBytes = Bytes{1} << 63;

Bytes element_bytes(const std::string& dtype) {
  static const std::map<std::string, Bytes, std::less<>> kSizes{
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"U16", 2}, {"I16", 2}, {"F16", 2},
      {"BF16", 2}, {"U32", 4}, {"I32", 4}, {"F32", 4},     {"U64", 8},     {"I64", 8}, {"F64", 8}};
  const auto found = kSizes.find(dtype);
  if (found == kSizes.end()) throw FileError(fmt::format("`{}` is no dtype", dtype.substr(0, 40)));
  return found->second;
}

/// Text of the file for a message: short, and one line.
std::string shortened(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, 60)) result += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return result;
}

/// Reads a header event by event: nothing is kept that is not wanted, and nothing recurses.
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderReader(std::vector<Tensor>& tensors, std::map<std::string, std::string>& metadata)
      : tensors_(tensors), metadata_(metadata) {}

  bool start_object(std::size_t) override {
    if (place_ == Place::outside) {
      place_ = Place::top;
    } else if (place_ == Place::top && key_ == kMetadata) {
      place_ = Place::metadata;
    } else if (place_ == Place::top) {
      place_ = Place::tensor;
      tensors_.push_back({.name = key_, .dtype = "", .shape = {}});
      seen_.clear();
    } else {
      refuse("a map");
    }
    return true;
  }

  bool key(string_t& name) override {
    key_ = name;
    switch (place_) {
      case Place::top:
        if (!names_.insert(name).second) throw FileError(fmt::format("`{}` stands twice", shortened(name)));
        break;
      case Place::metadata:
        if (metadata_.contains(name)) {
          throw FileError(fmt::format("`{}` stands twice in the metadata", shortened(name)));
        }
        break;
      default:
        if (name != "dtype" && name != "shape" && name != "data_offsets") {
          throw FileError(fmt::format("tensor `{}` has an unknown key `{}`", shortened(tensors_.back().name),
                                      shortened(name)));
        }
        if (!seen_.insert(name).second) {
          throw FileError(
              fmt::format("tensor `{}` has `{}` twice", shortened(tensors_.back().name), shortened(name)));
        }
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor) {
      if (seen_.size() != 3 || offsets_ != 2) {
        throw FileError(fmt::format("tensor `{}` has not each of dtype, shape and two data_offsets",
                                    shortened(tensors_.back().name)));
      }
      place_ = Place::top;
      offsets_ = 0;
    } else {
      place_ = place_ == Place::metadata ? Place::top : Place::done;
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ == Place::tensor && key_ == "shape") {
      place_ = Place::shape;
    } else if (place_ == Place::tensor && key_ == "data_offsets") {
      place_ = Place::offsets;
    } else {
      refuse("a list");
    }
    return true;
  }

  bool end_array() override {
    place_ = Place::tensor;
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::metadata) {
      metadata_.emplace(key_, std::move(text));
    } else if (place_ == Place::tensor && key_ == "dtype") {
      tensors_.back().dtype = std::move(text);
    } else {
      refuse("a text");
    }
    return true;
  }

  bool number_unsigned(number_unsigned_t number) override {
    if (place_ == Place::shape) {
      if (tensors_.back().shape.size() == kMaxRank) {
        throw FileError(fmt::format("tensor `{}` has more than {} dimensions",
                                    shortened(tensors_.back().name), kMaxRank));
      }
      tensors_.back().shape.push_back(number);
    } else if (place_ == Place::offsets && offsets_ < 2) {
      (offsets_++ == 0 ? tensors_.back().begin : tensors_.back().end) = number;
    } else {
      refuse("a number");
    }
    return true;
  }

  bool null() override { refuse("null"); }
  bool boolean(bool) override { refuse("a truth value"); }
  bool number_integer(number_integer_t number) override { refuse(fmt::format("{}", number)); }
  bool number_float(number_float_t, const string_t& text) override { refuse(shortened(text)); }
  bool binary(binary_t&) override { refuse("bytes"); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    throw FileError(fmt::format("the header is no JSON at byte {}", position));
  }

  bool complete() const { return place_ == Place::done; }

 private:
  enum class Place { outside, top, metadata, tensor, shape, offsets, done };
  static constexpr std::string_view kMetadata = "__metadata__";
  static constexpr std::size_t kMaxRank = 8;

  [[noreturn]] void refuse(const std::string& what) const {
    switch (place_) {
      case Place::outside:
        throw FileError(fmt::format("the header is {}, expected a map", what));
      case Place::metadata:
        throw FileError(fmt::format("metadata `{}` is {}, expected a text", shortened(key_), what));
      case Place::shape:
      case Place::offsets:
        throw FileError(fmt::format("tensor `{}` has {} in its {}, expected {} below 2^64",
                                    shortened(tensors_.back().name), what, key_,
                                    place_ == Place::shape ? "whole numbers" : "two whole numbers"));
      default:
        throw FileError(fmt::format("`{}` is {}, which does not belong in a header", shortened(key_), what));
    }
  }

  std::vector<Tensor>& tensors_;
  std::map<std::string, std::string>& metadata_;
  Place place_ = Place::outside;
  std::string key_;
  std::set<std::string> names_, seen_;
  int offsets_ = 0;
};

void check_layout(std::vector<Tensor>& tensors, Bytes payload) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const Tensor& a, const Tensor& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  Bytes next = 0;
  for (const Tensor& tensor : tensors) {
    const Bytes expected = bytes_of(tensor);
    if (tensor.end < tensor.begin || tensor.end - tensor.begin != expected) {
      throw FileError(fmt::format("tensor `{}` spans {} to {}, expected {} bytes for its shape",
                                  shortened(tensor.name), tensor.begin, tensor.end, expected));
    }
    if (tensor.begin != next) {
      throw FileError(fmt::format("tensor `{}` starts at {} in the payload, expected {}",
                                  shortened(tensor.name), tensor.begin, next));
    }
    next = tensor.end;
  }
  if (next != payload) {
    throw FileError(fmt::format("the tensors have {} bytes and the file's payload {}", next, payload));
  }
}

std::string header_of(const std::vector<Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  // Member by member: an ordered object of the library's looks at all names before it takes another.
  std::string text;
  std::set<std::string_view> names;
  const auto add = [&](std::string_view name, const nlohmann::ordered_json& value) {
    if (!names.insert(name).second) {
      throw FileError(fmt::format("two tensors are named `{}`", shortened(name)));
    }
    text += text.empty() ? "{" : ",";
    text += nlohmann::json(name).dump() + ":" + value.dump();
  };
  try {
    add("__metadata__", metadata);
    for (const Tensor& tensor : tensors) {
      add(tensor.name,
          {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {tensor.begin, tensor.end}}});
    }
  } catch (const nlohmann::json::exception&) {
    throw FileError("a name or metadata is no UTF-8");
  }
  text += "}";
  text.append(round_up_to_granule(kLengthBytes + text.size()) - kLengthBytes - text.size(), ' ');
  return text;
}

}  // namespace

Bytes bytes_of(const Tensor& tensor) {
  Bytes bytes = element_bytes(tensor.dtype);
  // A zero makes it empty, wherever it stands.
  for (const std::uint64_t size : tensor.shape) {
    if (size == 0) return 0;
  }
  for (const std::uint64_t size : tensor.shape) {
    if (size > kMaxBytes / bytes) {
      throw FileError(fmt::format("tensor `{}` has a shape of 2^63 bytes or more", shortened(tensor.name)));
    }
    bytes *= size;
  }
  return bytes;
}

TensorFile::TensorFile(const std::filesystem::path& path) : path_(path), file_(path) {
  try {
    const std::span<const std::byte> all = file_.bytes();
    if (all.size() < kLengthBytes) {
      throw FileError(fmt::format("it has {} bytes, expected at least {}", all.size(), kLengthBytes));
    }
    std::uint64_t length = 0;
    std::copy_n(all.begin(), kLengthBytes, std::as_writable_bytes(std::span(&length, 1)).begin());
    if (length > all.size() - kLengthBytes || length > kMaxHeader) {
      throw FileError(fmt::format("its header has {} bytes, expected at most {}", length,
                                  std::min(all.size() - kLengthBytes, kMaxHeader)));
    }
    const auto* text = reinterpret_cast<const char*>(all.data() + kLengthBytes);
    HeaderReader reader(tensors_, metadata_);
    if (length == 0) throw FileError("its header is empty");
    // To the JSON library a zero is the end of the text, and what follows would stay unseen.
    if (std::find(text, text + length, '\0') != text + length) throw FileError("its header has a zero byte");
    nlohmann::json::sax_parse(text, text + length, &reader);
    FHERES_CHECK(reader.complete());
    payload_ = all.subspan(kLengthBytes + length);
    check_layout(tensors_, payload_.size());
    for (std::size_t i = 0; i < tensors_.size(); ++i) by_name_.emplace(tensors_[i].name, i);
  } catch (const FileError& error) {
    throw FileError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

const Tensor* TensorFile::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

const std::string& TensorFile::metadata(const std::string& key) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) {
    throw FileError(fmt::format("{}: its metadata has no `{}`", path_.string(), key));
  }
  return found->second;
}

TensorWriter::TensorWriter(const std::filesystem::path& path, std::vector<Tensor> tensors,
                           const std::map<std::string, std::string>& metadata, OutputFile::Access access)
    : file_(path, access) {
  for (Tensor& tensor : tensors) {
    tensor.begin = left_;
    left_ = checked_add(left_, bytes_of(tensor));
    tensor.end = left_;
  }
  const std::string header = header_of(tensors, metadata);
  const std::uint64_t length = header.size();
  file_.write(std::as_bytes(std::span(&length, 1)));
  file_.write(std::as_bytes(std::span(header)));
}

void TensorWriter::write(std::span<const std::byte> bytes) {
  FHERES_CHECK(bytes.size() <= left_);
  file_.write(bytes);
  left_ -= bytes.size();
}

void TensorWriter::finish() {
  FHERES_CHECK(left_ == 0);
  file_.finish();
}

}  // namespace fheres::ckks
