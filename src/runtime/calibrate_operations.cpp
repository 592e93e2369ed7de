#include "calibrate_operations.hpp"

#include <algorithm>
#include <random>

#include <fheres/ckks/expansion.hpp>
#include <fheres/scheme/sizes.hpp>
#include <fheres/workload/body_times.hpp>

namespace fheres::runtime {
namespace {

using scheme::Operation;

enum Use : std::size_t { first, second, plain, key, result, workspace, pieces };

/// The same residues on every machine, each below every prime of the parameters: valid whatever they stand for.
std::vector<std::uint64_t> random_words(const scheme::Parameters& parameters, Bytes bytes) {
  std::uint64_t least = parameters.prime(0).value;
  for (int i = 1; i < parameters.prime_count(); ++i) least = std::min(least, parameters.prime(i).value);
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> words((bytes + 7) / 8);
  for (std::uint64_t& word : words) word = random() % least;
  return words;
}

}  // namespace

TimedOperations::TimedOperations(const ckks::Context& context, memory::Driver& driver, memory::Stream stream,
                                 const Stopwatch& watch)
    : parameters_(context.parameters()),
      evaluator_(context),
      driver_(driver),
      stream_(std::move(stream)),
      watch_(watch) {
  scheme::ValueType largest = scheme::ciphertext_type(parameters_);
  largest.components = 3;
  const Bytes ciphertext = scheme::bytes_of(parameters_, largest);
  const Bytes keys = scheme::bytes_of(parameters_, scheme::relinearization_key_type());
  const Bytes sizes[pieces] = {
      ciphertext, ciphertext, ciphertext, keys,
      // A key is expanded there too.
      std::max(ciphertext, keys),
      std::max(scheme::key_switch_workspace(parameters_, 0, 0) + scheme::rescale_workspace(parameters_, 3),
               scheme::hoisted_workspace(parameters_, 0, 2, 0))};
  const std::vector<std::uint64_t> words = random_words(parameters_, std::max(ciphertext, keys));
  for (const Bytes bytes : sizes) {
    pieces_.push_back({driver_.allocate(stream_.device(), bytes), bytes});
    const Bytes filled = std::min(bytes, words.size() * sizeof(std::uint64_t));
    driver_.copy(stream_, {stream_.device(), pieces_.back().data, filled},
                 {memory::Location::pageable_host(),
                  reinterpret_cast<std::byte*>(const_cast<std::uint64_t*>(words.data())), filled});
    driver_.synchronize(stream_);
  }
}

TimedOperations::~TimedOperations() {
  for (const Piece& item : pieces_) driver_.deallocate(stream_.device(), item.data, item.bytes);
}

std::span<std::byte> TimedOperations::piece(std::size_t index, Bytes bytes) const {
  return {pieces_[index].data, bytes};
}

void TimedOperations::measure(int level, workload::Machine& machine) {
  for (const Operation operation : scheme::operations()) {
    const scheme::KeyUse use = scheme::key_use(operation);
    if (use != scheme::KeyUse::required) measure(operation, false, level, machine);
    if (use != scheme::KeyUse::none) measure(operation, true, level, machine);
  }
  measure_turns(level, machine);
}

/// Two rotations at once against one: what the second one takes is what any more would.
void TimedOperations::measure_turns(int level, workload::Machine& machine) {
  const scheme::ValueType type = scheme::ciphertext_type(parameters_, level);
  const scheme::ValueType key_type = scheme::rotation_key_type(parameters_, 1, level);
  const Bytes bytes = scheme::bytes_of(parameters_, type);
  const ckks::CiphertextView in = ckks::CiphertextRef(parameters_, type, piece(first, bytes));
  const ckks::KeyView turn =
      ckks::KeyRef(parameters_, key_type, piece(key, scheme::bytes_of(parameters_, key_type)));
  const std::vector<ckks::KeyView> keys{turn, turn};
  const std::vector<ckks::CiphertextRef> outs{{parameters_, type, piece(second, bytes)},
                                              {parameters_, type, piece(result, bytes)}};
  const ckks::Workspace space(pieces_[workspace].data, pieces_[workspace].bytes);
  const auto time = [&](std::size_t count) {
    return watch_.time(
        [&] {
          evaluator_.rotate_many(in, std::span(keys).first(count), std::span(outs).first(count), space,
                                 stream_);
        },
        [&] { driver_.synchronize(stream_); });
  };
  const double one = time(1);
  note("rotate_many", level, std::clamp(time(2) - one, one / 100, one), machine);
}

void TimedOperations::measure(Operation operation, bool with_key, int level, workload::Machine& machine) {
  scheme::ValueType type = scheme::ciphertext_type(parameters_, level);
  if (operation == Operation::rescale) type.scale = type.scale.times(type.scale);
  if (operation == Operation::relinearize) type.components = 3;
  std::vector<scheme::ValueType> types(static_cast<std::size_t>(scheme::operand_count(operation)), type);
  if (scheme::takes_plaintext(operation))
    types[1] = scheme::plaintext_type(parameters_, level, parameters_.canonical_scale(level));
  std::optional<scheme::ValueType> key_type;
  if (with_key) {
    key_type = operation == Operation::rotate      ? scheme::rotation_key_type(parameters_, 1, level)
               : operation == Operation::conjugate ? scheme::conjugation_key_type(level)
                                                   : scheme::relinearization_key_type(level);
  }
  const scheme::Scalar half{0.5, {}};
  const scheme::Scalar* scalar = scheme::takes_scalar(operation) ? &half : nullptr;
  scheme::Signature signature;
  try {
    signature = scheme::infer(parameters_, operation, types, key_type ? &*key_type : nullptr, 0, scalar);
  } catch (const scheme::StateError&) {
    return;  // not at this level
  }
  if (signature.workspace > pieces_[workspace].bytes) return;
  const auto bytes_of = [&](const scheme::ValueType& of) { return scheme::bytes_of(parameters_, of); };
  std::vector<ckks::CiphertextView> ciphertexts;
  ciphertexts.push_back(ckks::CiphertextRef(parameters_, types[0], piece(first, bytes_of(types[0]))));
  std::optional<ckks::PlaintextView> plaintext;
  if (scheme::takes_plaintext(operation)) {
    plaintext = ckks::PlaintextRef(parameters_, types[1], piece(plain, bytes_of(types[1])));
  } else if (types.size() > 1) {
    ciphertexts.push_back(ckks::CiphertextRef(parameters_, types[1], piece(second, bytes_of(types[1]))));
  }
  std::optional<ckks::KeyView> switching;
  if (key_type) switching = ckks::KeyRef(parameters_, *key_type, piece(key, bytes_of(*key_type)));
  const ckks::CiphertextRef out(parameters_, signature.result, piece(result, bytes_of(signature.result)));
  const ckks::Workspace space = signature.workspace == 0
                                    ? ckks::Workspace{}
                                    : ckks::Workspace(pieces_[workspace].data, signature.workspace);
  const double ns = watch_.time(
      [&] {
        evaluator_.apply(
            operation,
            {ciphertexts, plaintext ? &*plaintext : nullptr, switching ? &*switching : nullptr, scalar}, out,
            space, stream_);
      },
      [&] { driver_.synchronize(stream_); });
  note(workload::timed_name(operation, with_key), level, ns, machine);
}

void TimedOperations::note(const std::string& name, int level, double ns, workload::Machine& machine) const {
  const std::string& set = parameters_.name().empty() ? parameters_.id() : parameters_.name();
  for (workload::OperationTimes& known : machine.operations) {
    if (known.parameters != set || known.operation != name) continue;
    known.points.push_back({level, ns});
    return;
  }
  machine.operations.push_back({set, name, {{level, ns}}});
}

double TimedOperations::expansion() {
  const scheme::ValueType full = scheme::relinearization_key_type();
  const scheme::ValueType half = scheme::seeded_form(full);
  const Bytes bytes = scheme::bytes_of(parameters_, full);
  const ckks::KeyRef out(parameters_, full, piece(result, bytes));
  const ckks::KeyView in = ckks::KeyRef(parameters_, half, piece(key, scheme::bytes_of(parameters_, half)));
  const double ns = watch_.time([&] { ckks::expand(evaluator_.context(), in, out, stream_); },
                                [&] { driver_.synchronize(stream_); });
  return static_cast<double>(bytes) * 1e9 / ns;
}

}  // namespace fheres::runtime
