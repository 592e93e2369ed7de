#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>

#include <fmt/format.h>

#include <fheres/base/file.hpp>
#include <fheres/ckks/encoder.hpp>
#include <fheres/ckks/encryptor.hpp>
#include <fheres/ckks/key_file.hpp>
#include <fheres/ckks/key_generator.hpp>
#include <fheres/ckks/value_file.hpp>
#include <fheres/report/json.hpp>
#include <fheres/report/table.hpp>

#include "client.hpp"
#include "document.hpp"
#include "numbers.hpp"
#include "outputs.hpp"
#include "planned_run.hpp"
#include "value_names.hpp"

namespace fheres::cli {
namespace {

using report::Json;
using workload::ValueIndex;
namespace fs = std::filesystem;

struct MakeOptions : ClientOptions {
  std::string folder = ".";
  std::string public_key;
  std::optional<std::uint64_t> seed;
  std::vector<std::string> names;
  std::vector<std::string> messages;  // NAME=FILE
  std::string plan;                   // keys in the variants that it names
};

void usage(const std::string& what) { fmt::print(stderr, "fheres: {}\n", what); }

ckks::Randomness randomness_of(const MakeOptions& options, const workload::Workload& workload) {
  const std::optional<std::uint64_t> seed = options.seed ? options.seed : workload.seed;
  if (!seed) return ckks::Randomness::from_system();
  if (!options.common.quiet) {
    fmt::print(stderr, "everything comes from a fixed seed: for tests, never for real secrets\n");
  }
  return ckks::Randomness::from_document(*seed);
}

/// Values by the file that they go to, in the order in which they stand there.
using Files = std::map<fs::path, std::vector<ValueIndex>>;

Files files_of(const workload::World& world, const std::vector<ValueIndex>& values, const fs::path& folder) {
  Files files;
  for (const ValueIndex index : values) files[path_of(world.values[index], folder)].push_back(index);
  return files;
}

/// Whether the values' files are none of the others. What is written beside them comes last.
bool are_apart(const Files& files, const workload::World& world, const std::vector<NamedFile>& read,
               std::vector<NamedFile> written) {
  for (const auto& [path, indices] : files)
    written.push_back(
        {fmt::format("the file of `{}`", world.values[indices.front()].client_name), path.string()});
  return outputs_are_apart(read, written);
}

/// Writes files one after the other, a value at a time: no more than one is in memory. `make` gives its bytes.
template <class Make>
Json write_files(const scheme::Parameters& parameters, const workload::World& world, const Files& files,
                 const Make& make) {
  Json list = Json::array();
  for (const auto& [path, indices] : files) {
    std::vector<ckks::StoredValue> stored;
    for (const ValueIndex index : indices) {
      stored.push_back(make.stored(world.values[index]));
    }
    make_folders(path.parent_path());
    ckks::ValueFileWriter writer(parameters, path, stored);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      make.write(world.values[indices[i]], writer);
      list.push_back({{"name", stored[i].name},
                      {"form", scheme::is_seeded(stored[i].type) ? "seeded" : "full"},
                      {"bytes", scheme::bytes_of(parameters, stored[i].type)},
                      {"file", path.string()}});
    }
    writer.finish();
  }
  return list;
}

void print_written(const MakeOptions& options, const char* schema, const Json& list,
                   const std::string& last) {
  if (options.common.json) {
    fmt::print("{}", report::render({{"schema", schema}, {"written", list}}));
  } else if (!options.common.quiet) {
    for (const Json& item : list) {
      fmt::print("{}: {}, {}\n", item["file"].get<std::string>(), item["name"].get<std::string>(),
                 format_bytes(item["bytes"].get<Bytes>()));
    }
    fmt::print("{}\n", last);
  }
}

struct KeyMaker {
  const ckks::KeyGenerator& generator;
  const ckks::SecretKey& secret;
  ckks::StoredValue stored(const workload::Value& value) const { return {value.client_name, *value.type}; }
  void write(const workload::Value& value, ckks::ValueFileWriter& writer) const {
    writer.write(generator.switching_key(secret, *value.type, value.client_name).bytes());
  }
};

ExitCode keygen(const MakeOptions& options) {
  const auto workload = load_in_variants(options.workload, options.plan, options.planning, options.common);
  if (!workload) return ExitCode::invalid;
  if (fs::exists(options.secret)) {
    usage(fmt::format("{} is there already: a secret is never overwritten", options.secret));
    return ExitCode::invalid;
  }
  const fs::path folder = options.folder;
  const fs::path public_key =
      options.public_key.empty() ? folder / "public.safetensors" : fs::path(options.public_key);
  const Files files = files_of(workload->world, keys_of(workload->world), folder);
  if (!are_apart(files, workload->world, {{"the document", options.workload}, {"--plan", options.plan}},
                 {{"the secret", options.secret}, {"the public key", public_key.string()}}))
    return ExitCode::invalid;
  make_folders(folder);
  make_folders(public_key.parent_path());
  const scheme::Parameters& parameters = *workload->world.parameters;
  const ckks::Context host = ckks::Context::on_host(parameters);
  const ckks::KeyGenerator generator(host, randomness_of(options, *workload));
  const ckks::SecretKey secret = generator.secret_key();
  // The secret first: keys of a secret that could not be kept are of no use.
  ckks::save_secret(host, secret, options.secret);
  ckks::save_public(host, generator.public_key(secret), public_key);
  const Json list = write_files(parameters, workload->world, files, KeyMaker{generator, secret});
  print_written(options, "fheres/client-keys/v1", list,
                fmt::format("{}: the public key, for inputs\n{}: the secret, for its owner alone",
                            public_key.string(), options.secret));
  return ExitCode::done;
}

/// The values to encrypt; nothing, and a message, where a name is no input.
std::optional<std::vector<ValueIndex>> chosen_inputs(const MakeOptions& options,
                                                     const workload::World& world) {
  const std::vector<ValueIndex> all = inputs_of(world);
  if (options.names.empty()) return all;
  std::vector<ValueIndex> chosen;
  for (const std::string& name : options.names) {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](ValueIndex index) { return world.values[index].name.text == name; });
    if (found == all.end()) {
      usage(fmt::format("`{}` is no ciphertext among the values of {}", name, options.workload));
      return std::nullopt;
    }
    if (std::find(chosen.begin(), chosen.end(), *found) == chosen.end()) chosen.push_back(*found);
  }
  return chosen;
}

struct InputMaker {
  const ckks::Encoder& encoder;
  const std::map<std::string, std::vector<double>>& messages;
  const ckks::Encryptor* with_public = nullptr;
  const ckks::SecretEncryptor* with_secret = nullptr;

  ckks::StoredValue stored(const workload::Value& value) const {
    return {value.client_name, with_secret != nullptr ? scheme::seeded_form(*value.type) : *value.type};
  }
  void write(const workload::Value& value, ckks::ValueFileWriter& writer) const {
    const std::vector<double>& message = messages.at(value.name.text);
    const ckks::Plaintext plaintext =
        encoder.encode(std::span<const double>(message), value.type->level, value.type->scale);
    if (with_secret != nullptr) {
      writer.write(
          with_secret->encrypt(plaintext.view(), value.client_name, scheme::CiphertextForm::seeded).bytes());
    } else {
      writer.write(with_public->encrypt(plaintext.view(), value.client_name).bytes());
    }
  }
};

/// The clear text of each input: of --message, else of the document. Nothing, and a message, where one has neither.
std::optional<std::map<std::string, std::vector<double>>> messages_of(const MakeOptions& options,
                                                                      const workload::World& world,
                                                                      const std::vector<ValueIndex>& inputs) {
  const std::uint64_t slots = world.parameters->slots();
  std::map<std::string, std::vector<double>> messages;
  for (const std::string& text : options.messages) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const bool known = std::any_of(inputs.begin(), inputs.end(),
                                   [&](ValueIndex index) { return world.values[index].name.text == name; });
    if (equals == text.npos || !known) {
      usage(fmt::format("`{}` is not NAME=FILE with the name of a ciphertext that is encrypted here", text));
      return std::nullopt;
    }
    messages[name] = read_numbers(text.substr(equals + 1), slots);
  }
  for (const ValueIndex index : inputs) {
    const workload::Value& value = world.values[index];
    if (messages.contains(value.name.text)) continue;
    if (!value.message) {
      usage(fmt::format("`{0}` has no message in the document: give --message {0}=FILE", value.name.text));
      return std::nullopt;
    }
    messages[value.name.text] = workload::slots_of(*value.message, slots);
  }
  return messages;
}

ExitCode encrypt(const MakeOptions& options) {
  const auto workload = load_workload(options.workload, options.planning, options.common);
  if (!workload) return ExitCode::invalid;
  const bool secretly = !options.secret.empty();
  if (secretly == !options.public_key.empty()) {
    usage("expected one of --public and --secret");
    return ExitCode::invalid;
  }
  const auto inputs = chosen_inputs(options, workload->world);
  if (!inputs) return ExitCode::invalid;
  const auto messages = messages_of(options, workload->world, *inputs);
  if (!messages) return ExitCode::invalid;
  const Files files = files_of(workload->world, *inputs, options.folder);
  for (const ValueIndex key : keys_of(workload->world)) {
    const fs::path path = path_of(workload->world.values[key], options.folder);
    if (!files.contains(path)) continue;
    usage(fmt::format("{} is for the key `{}`: a file of keys is not overwritten with inputs", path.string(),
                      workload->world.values[key].client_name));
    return ExitCode::invalid;
  }
  for (const ValueIndex input : inputs_of(workload->world)) {
    const workload::Value& value = workload->world.values[input];
    const auto shared = files.find(path_of(value, options.folder));
    if (shared == files.end()) continue;
    if (std::find(shared->second.begin(), shared->second.end(), input) != shared->second.end()) continue;
    usage(fmt::format("{} holds `{}` too: name every ciphertext of a file", shared->first.string(),
                      value.client_name));
    return ExitCode::invalid;
  }
  std::vector<NamedFile> read{
      {"the document", options.workload}, {"--public", options.public_key}, {"--secret", options.secret}};
  for (const std::string& text : options.messages)
    read.push_back({"the message of --message " + text, text.substr(text.find('=') + 1)});
  if (!are_apart(files, workload->world, read, {})) return ExitCode::invalid;
  const scheme::Parameters& parameters = *workload->world.parameters;
  const ckks::Context host = ckks::Context::on_host(parameters);
  const ckks::Encoder encoder(host);
  Json list;
  if (secretly) {
    // A secret from a file may have come from anywhere, so nothing but fresh randomness is safe with it.
    const ckks::SecretKey secret = ckks::load_secret(host, options.secret);
    const ckks::SecretEncryptor encryptor(host, secret, ckks::Randomness::from_system());
    list =
        write_files(parameters, workload->world, files, InputMaker{encoder, *messages, nullptr, &encryptor});
  } else {
    const ckks::Encryptor encryptor(host, ckks::load_public(host, options.public_key),
                                    randomness_of(options, *workload));
    list =
        write_files(parameters, workload->world, files, InputMaker{encoder, *messages, &encryptor, nullptr});
  }
  print_written(options, "fheres/client-inputs/v1", list,
                report::format_count(list.size(), "input") + " encrypted");
  return ExitCode::done;
}

void add_keygen(Command& client, Action& action) {
  auto options = std::make_shared<MakeOptions>();
  Command* command = client.add_subcommand(
      "keygen", "a new secret, the public key, and every key that the workload needs, as files");
  add_client_options(*command, *options);
  names_file(command->add_option("--secret", options->secret,
                                 "where the secret goes (mode 0600; never overwritten)"))
      ->required();
  names_file(command->add_option("--out", options->folder,
                                 "for the keys that name no `source: {file: ...}`, and the public key"),
             "FOLDER")
      ->capture_default_str();
  names_file(command->add_option("--public", options->public_key, "where the public key goes, if not there"));
  names_file(command->add_option(
      "--plan", options->plan,
      "a Plan that was compiled from the workload: keys in the variants that it has chosen"));
  command->add_option("--seed", options->seed, "reproducible keys, for tests; never for real secrets")
      ->whole();
  command->footer("example: fheres client keygen samples/client-server.yaml --secret secret.safetensors");
  command->callback([options, &action] { action = [options] { return keygen(*options); }; });
}

void add_encrypt(Command& client, Action& action) {
  auto options = std::make_shared<MakeOptions>();
  Command* command =
      client.add_subcommand("encrypt", "the workload's inputs, encrypted with the public key or the secret");
  add_client_options(*command, *options);
  command->add_option("names", options->names, "which ciphertexts; all of them where none is named");
  names_file(command->add_option("--public", options->public_key, "the public key's file"));
  names_file(command->add_option("--secret", options->secret,
                                 "the secret's file: seeded ciphertexts, half the bytes"));
  command
      ->add_option("--message", options->messages,
                   "NAME=FILE: numbers (.npy or text) in place of the document's message; repeatable")
      ->type_name("NAME=FILE")
      ->take_all();
  names_file(
      command->add_option("--out", options->folder, "for the values that name no `source: {file: ...}`"),
      "FOLDER")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "reproducible encryptions with --public, for tests")->whole();
  command->footer("example: fheres client encrypt samples/client-server.yaml --public public.safetensors");
  command->callback([options, &action] { action = [options] { return encrypt(*options); }; });
}

}  // namespace

void add_client_options(Command& command, ClientOptions& options) {
  names_file(command.add_option("workload", options.workload, "the document"))->required();
  add_common(command, options.common);
  add_reading(command, options.planning);
}

void add_client(Command& app, Action& action) {
  Command* client = app.add_subcommand(
      "client", "the key owner's half, as commands of its own: the server never sees a secret");
  client->require_subcommand(1);
  add_keygen(*client, action);
  add_encrypt(*client, action);
  add_client_decrypt(*client, action);
}

}  // namespace fheres::cli
