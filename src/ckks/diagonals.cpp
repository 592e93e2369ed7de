#include <fmt/format.h>

#include <fheres/ckks/diagonals.hpp>

namespace fheres::ckks {

std::vector<Plaintext> encode_diagonals(
    const Encoder& encoder, const scheme::Parameters& parameters, const scheme::LinearTransform& transform,
    const std::map<std::int64_t, std::vector<std::complex<double>>>& diagonals, int level,
    const scheme::Scale& scale, scheme::PlaintextForm form) {
  const auto slots = static_cast<std::int64_t>(parameters.slots());
  std::map<int, const std::vector<std::complex<double>>*> by_index;
  for (const auto& [index, values] : diagonals) {
    by_index.emplace(static_cast<int>((index % slots + slots) % slots), &values);
  }
  if (diagonals.size() != transform.diagonals().size() || by_index.size() != diagonals.size()) {
    throw scheme::ParameterError(
        fmt::format("{} diagonals are given, expected {}", by_index.size(), transform.diagonals().size()));
  }
  std::vector<Plaintext> plaintexts;
  for (const scheme::LinearTransform::Diagonal& diagonal : transform.diagonals()) {
    const auto found = by_index.find(diagonal.index);
    if (found == by_index.end())
      throw scheme::ParameterError(fmt::format("diagonal {} is not given", diagonal.index));
    const std::vector<std::complex<double>>& values = *found->second;
    if (values.size() > parameters.slots()) {
      throw scheme::ParameterError(fmt::format("diagonal {} has {} values, expected at most {}",
                                               diagonal.index, values.size(), parameters.slots()));
    }
    std::vector<std::complex<double>> turned(parameters.slots());
    for (std::size_t i = 0; i < values.size(); ++i) {
      turned[(i + turned.size() - static_cast<std::size_t>(diagonal.giant)) % turned.size()] = values[i];
    }
    plaintexts.push_back(
        encoder.encode(std::span<const std::complex<double>>(turned), level, scale, {.form = form}));
  }
  return plaintexts;
}

}  // namespace fheres::ckks
