#include <algorithm>
#include <cstring>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fheres/ckks/key_file.hpp>
#include <fheres/ckks/value_file.hpp>

#include "ckks/ckks_support.hpp"
#include "support/folder.hpp"

using namespace fheres;
using namespace fheres::test;

namespace {

std::vector<std::byte> read_back(const ckks::ValueFile& file, const scheme::Parameters& parameters,
                                 const std::string& name, const scheme::ValueType& type) {
  std::vector<std::byte> bytes(scheme::bytes_of(parameters, type));
  file.read(name, type, bytes);
  return bytes;
}

bool contains(const std::string& text, std::span<const std::byte> bytes) {
  return text.find({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) != text.npos;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("every kind of value comes back from its file, in both forms, several in one file") {
  const World w(small_parameters(2, 2));
  const Folder folder;
  const std::vector<Complex> x = random_message(w.parameters.slots(), 70);
  const ckks::SecretEncryptor encryptor(w.context, w.secret, w.randomness);
  std::vector<ckks::SwitchingKey> keys;
  for (const scheme::ValueType& type :
       {scheme::rotation_key_type(w.parameters, 3, 1), scheme::conjugation_key_type(0),
        scheme::relinearization_key_type(2)}) {
    keys.push_back(w.keys.switching_key(w.secret, type, "key"));
    keys.push_back(w.keys.switching_key(w.secret, scheme::seeded_form(type), "key"));
  }
  const ckks::Plaintext plaintext = w.encode(x, 1);
  const ckks::Ciphertext full = encryptor.encrypt(plaintext.view(), "x");
  const ckks::Ciphertext seeded = encryptor.encrypt(plaintext.view(), "x", scheme::CiphertextForm::seeded);
  std::vector<ckks::StoredValue> values{
      {"plain", plaintext.type()}, {"x", full.type()}, {"x/seeded", seeded.type()}};
  std::vector<std::span<const std::byte>> bytes{plaintext.bytes(), full.bytes(), seeded.bytes()};
  for (const ckks::SwitchingKey& key : keys) {
    values.push_back({"key" + std::to_string(values.size()), key.type()});
    bytes.push_back(key.bytes());
  }
  ckks::ValueFileWriter writer(w.parameters, folder.path / "values.safetensors", values);
  for (const auto& part : bytes) writer.write(part);
  writer.finish();

  const ckks::ValueFile file(w.parameters, folder.path / "values.safetensors");
  CHECK(file.values().size() == values.size());
  Bytes payload = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    CAPTURE(values[i].name);
    REQUIRE(file.find(values[i].name) != nullptr);
    CHECK(file.find(values[i].name)->type == values[i].type);
    CHECK(same_bytes(read_back(file, w.parameters, values[i].name, values[i].type), bytes[i]));
    payload += scheme::bytes_of(w.parameters, values[i].type);
  }
  // The header apart, a file has exactly the bytes of its values.
  const Bytes size = std::filesystem::file_size(file.path());
  CHECK(size - payload < 8 * kKiB);
}

TEST_CASE("a value of another type, name or parameters is refused with both") {
  const World w(small_parameters());
  const Folder folder;
  const auto path = folder.path / "x";
  const ckks::Ciphertext x = w.encrypt(random_message(w.parameters.slots(), 71), 1);
  ckks::save_value(w.parameters, path, {"x", x.type()}, x.bytes());
  const ckks::ValueFile file(w.parameters, path);
  std::vector<std::byte> out(x.bytes().size());
  CHECK_THROWS_WITH_AS(file.read("y", x.type(), out), doctest::Contains("no value `y`"), FileError);
  const scheme::ValueType other = scheme::ciphertext_type(w.parameters, 2);
  CHECK_THROWS_WITH_AS(file.read("x", other, out), doctest::Contains("level 1"), FileError);
  CHECK_THROWS_WITH_AS(file.read("x", other, out), doctest::Contains("level 2"), FileError);
  const scheme::Parameters others = small_parameters(2);
  CHECK_THROWS_WITH_AS(ckks::ValueFile(others, path), doctest::Contains(others.id().c_str()),
                       scheme::ParameterError);
  CHECK_THROWS_WITH_AS(ckks::ValueFile(others, path), doctest::Contains(w.parameters.id().c_str()),
                       scheme::ParameterError);
}

TEST_CASE("a residue that is not below its prime is refused, in whatever limb it stands") {
  const World w(small_parameters());
  const Folder folder;
  const scheme::ValueType type = scheme::rotation_key_type(w.parameters, 1, 3);
  const ckks::SwitchingKey key = w.keys.switching_key(w.secret, type, "key");
  const std::size_t rows = static_cast<std::size_t>(w.parameters.special_limbs() + w.parameters.limbs(3));
  const std::size_t row_bytes = key.bytes().size() / rows;
  ckks::save_value(w.parameters, folder.path / "good", {"key", type}, key.bytes());
  const std::string good = folder.read("good");
  const std::size_t header = good.size() - key.bytes().size();
  for (std::size_t row = 0; row < rows; ++row) {
    CAPTURE(row);
    const std::uint64_t prime = row == 0 ? w.parameters.p()[0].value : w.parameters.q()[row - 1].value;
    for (const bool bad : {true, false}) {
      std::string bytes = good;
      const std::uint64_t residue = bad ? prime : prime - 1;
      std::memcpy(bytes.data() + header + (row + 1) * row_bytes - 8, &residue, 8);
      const ckks::ValueFile file(w.parameters, folder.write("key", bytes));
      std::vector<std::byte> out(key.bytes().size());
      if (bad) {
        CHECK_THROWS_WITH_AS(file.read("key", type, out), doctest::Contains("residue"), FileError);
      } else {
        CHECK_NOTHROW(file.read("key", type, out));
      }
    }
  }
}

TEST_CASE("metadata and tensors that do not agree are refused") {
  const World w(small_parameters());
  const Folder folder;
  const std::string id = w.parameters.id();
  const scheme::ValueType type = scheme::seeded_form(scheme::ciphertext_type(w.parameters, 5));
  const std::string text = scheme::encode_metadata(w.parameters, type);
  const std::uint64_t n = w.parameters.n();
  const ckks::Tensor residues{.name = "x", .dtype = "U64", .shape = {1, n}};
  const ckks::Tensor seed{.name = "x.seed", .dtype = "U8", .shape = {32}};
  using Metadata = std::map<std::string, std::string>;
  const Metadata good{{"format", "fheres/values/v1"}, {"parameters", id}, {"value:x", text}};
  const auto opens = [&](std::vector<ckks::Tensor> tensors, const Metadata& metadata) {
    Bytes payload = 0;
    for (const ckks::Tensor& tensor : tensors) payload += ckks::bytes_of(tensor);
    ckks::TensorWriter writer(folder.path / "file", std::move(tensors), metadata);
    writer.write(std::vector<std::byte>(payload));
    writer.finish();
    try {
      const ckks::ValueFile file(w.parameters, folder.path / "file");
      return true;
    } catch (const FileError& error) {
      CHECK(contains(error.what(), std::string("file: ")));
      return false;
    }
  };
  CHECK(opens({residues, seed}, good));
  CHECK_FALSE(opens({seed, residues}, good));
  CHECK_FALSE(opens({residues}, good));
  CHECK_FALSE(opens({residues, seed, {.name = "y", .dtype = "U8", .shape = {1}}}, good));
  CHECK_FALSE(opens({residues, {.name = "between", .dtype = "U8", .shape = {1}}, seed}, good));
  CHECK_FALSE(opens({{.name = "x", .dtype = "U64", .shape = {n}}, seed}, good));
  CHECK_FALSE(opens({{.name = "x", .dtype = "I64", .shape = {1, n}}, seed}, good));
  CHECK_FALSE(opens({residues, {.name = "x.seed", .dtype = "U8", .shape = {31}}}, good));
  for (const char* key : {"format", "parameters", "value:x"}) {
    Metadata without = good;
    without.erase(key);
    CHECK_FALSE(opens({residues, seed}, without));
  }
  for (const auto& [key, value] : Metadata{{"format", "fheres/values/v2"},
                                           {"value:x", "ckks/1"},
                                           {"value:x", text + " colour=red"},
                                           {"value:x.seed", text},
                                           {"value:y", text}}) {
    Metadata changed = good;
    changed[key] = value;
    CHECK_FALSE(opens({residues, seed}, changed));
  }
}

TEST_CASE("a secret is written for its owner alone, and comes back as the same secret") {
  const World w(small_parameters());
  const Folder folder;
  const auto path = folder.path / "secret";
  ckks::save_secret(w.context, w.secret, path);
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
  const ckks::SecretKey secret = ckks::load_secret(w.context, path);
  const std::vector<Complex> x = random_message(w.parameters.slots(), 72);
  const ckks::Ciphertext ciphertext = w.encrypt(x);
  const ckks::Decryptor decryptor(w.context, secret);
  CHECK(same_bytes(decryptor.decrypt(ciphertext.view()).bytes(),
                   ckks::Decryptor(w.context, w.secret).decrypt(ciphertext.view()).bytes()));
  // From a file nobody knows where it came from: no document's seed may serve it.
  CHECK_THROWS_AS(w.keys.rotation_key(secret, 1, 0, "r"), scheme::ParameterError);
  const ckks::KeyGenerator fresh(w.context, ckks::Randomness::from_system());
  const ckks::SwitchingKey key = fresh.rotation_key(secret, 1, 0, "r");
  std::vector<Complex> rotated(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) rotated[(i + 1) % x.size()] = x[i];
  CHECK(largest_error(w.decrypt(w.apply(scheme::Operation::rotate, {&ciphertext}, nullptr, &key)), rotated) <
        1e-6);
}

TEST_CASE("a file that is no secret, or of other parameters, gives none") {
  const World w(small_parameters());
  const Folder folder;
  ckks::save_secret(w.context, w.secret, folder.path / "secret");
  const ckks::PublicKey key = w.keys.public_key(w.secret);
  ckks::save_public(w.context, key, folder.path / "public");
  CHECK_THROWS_WITH_AS(ckks::load_secret(w.context, folder.path / "public"), doctest::Contains("secret-key"),
                       FileError);
  CHECK_THROWS_AS(ckks::load_public(w.context, folder.path / "secret"), FileError);
  CHECK_THROWS_AS(ckks::ValueFile(w.parameters, folder.path / "secret"), FileError);
  CHECK_THROWS_AS(ckks::load_secret(ckks::Context::on_host(small_parameters(2)), folder.path / "secret"),
                  scheme::ParameterError);
  std::string bytes = folder.read("secret");
  bytes.back() = 2;
  CHECK_THROWS_WITH_AS(ckks::load_secret(w.context, folder.write("bad", bytes)),
                       doctest::Contains("no -1, 0 or 1"), FileError);
  bytes = folder.read("public");
  std::memset(bytes.data() + bytes.size() - 8, 0xff, 8);
  CHECK_THROWS_WITH_AS(ckks::load_public(w.context, folder.write("bad", bytes)), doctest::Contains("residue"),
                       FileError);
  CHECK(std::ranges::equal(ckks::load_public(w.context, folder.path / "public").words(), key.words()));
}

TEST_CASE("nothing that is saved holds a document's seed or a secret, but the file of the secret itself") {
  const std::uint64_t document = 0x0123456789abcdefU;
  const scheme::Parameters parameters = small_parameters();
  const World w(parameters, 0, document);
  const Folder folder;
  const ckks::SecretEncryptor encryptor(w.context, w.secret, w.randomness);
  const ckks::Plaintext plaintext = w.encode(random_message(parameters.slots(), 73));
  const ckks::Ciphertext x = encryptor.encrypt(plaintext.view(), "x", scheme::CiphertextForm::seeded);
  const ckks::Ciphertext y = w.encryptor.encrypt(plaintext.view(), "y");
  const ckks::SwitchingKey full = w.keys.rotation_key(w.secret, 1, 0, "full");
  const ckks::SwitchingKey seeded =
      w.keys.switching_key(w.secret, scheme::seeded_form(scheme::relinearization_key_type(0)), "seeded");
  ckks::ValueFileWriter writer(
      parameters, folder.path / "values",
      {{"x", x.type()}, {"y", y.type()}, {"full", full.type()}, {"seeded", seeded.type()}});
  for (const auto& bytes : {x.bytes(), y.bytes(), full.bytes(), seeded.bytes()}) writer.write(bytes);
  writer.finish();
  ckks::save_public(w.context, w.keys.public_key(w.secret), folder.path / "public");
  ckks::save_secret(w.context, w.secret, folder.path / "secret");

  const std::string secret = folder.read("secret");
  const std::string coefficients = secret.substr(secret.size() - parameters.n());
  std::string swapped(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) swapped[i] = static_cast<char>(document >> (8 * (7 - i)));
  for (const char* name : {"values", "public"}) {
    CAPTURE(name);
    const std::string saved = folder.read(name);
    CHECK_FALSE(contains(saved, std::as_bytes(std::span(&document, 1))));
    CHECK_FALSE(contains(saved, swapped));
    CHECK_FALSE(contains(saved, std::to_string(document)));
    CHECK_FALSE(contains(saved, std::string("123456789abcdef")));
    // Neither the coefficients, nor any eight of them in a row, nor any residue of the secret's transform, nor a seed
    // of any error: a public seed is one draw, and the others have other labels.
    for (std::size_t at = 0; at + 16 <= coefficients.size(); at += 16) {
      CHECK_FALSE(contains(saved, coefficients.substr(at, 16)));
    }
    for (const char* purpose :
         {"secret", "secret-origin", "key-error", "public-key-error", "ciphertext-error", "encryption-secret",
          "encryption-error-0", "encryption-error-1"}) {
      const ckks::Seed seed =
          w.randomness.seed({.purpose = purpose, .name = "", .level = 0, .parameters = parameters.id()});
      CHECK_FALSE(contains(saved, {seed.data(), 32}));
    }
  }
  // The same search finds what is there: the public seed of the seeded key, and the secret in its own file.
  CHECK(contains(folder.read("values"), seeded.bytes().last(32)));
  CHECK(contains(secret, coefficients.substr(0, 16)));
  // Nor does the file of the secret hold the seed.
  CHECK_FALSE(contains(secret, std::as_bytes(std::span(&document, 1))));
  CHECK_FALSE(contains(secret, std::to_string(document)));
}
