#pragma once

#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fheres/compile/compile.hpp>
#include <fheres/documents/emit.hpp>
#include <fheres/documents/load.hpp>

namespace fheres::test {

/// A Workload of opaque bytes, from the text of its document without the head.
inline workload::Workload workload_of(const std::string& body) {
  const std::string text = "apiVersion: fheres/v1\nkind: Workload\nmetadata: {name: test}\n" + body;
  documents::Loaded loaded = documents::load_text(text, "test.yaml", ".");
  for (const auto& problem : loaded.diagnostics) FAIL(documents::render(problem, loaded.sources));
  return std::get<workload::Workload>(std::move(*loaded.model));
}

inline compile::Compiled compiled(const workload::Workload& workload,
                                  const compile::CompileOptions& options = {}) {
  compile::Outcome outcome = compile::compile(workload, options);
  if (const auto* no = std::get_if<compile::Infeasible>(&outcome)) FAIL(no->reason);
  if (const auto* unknown = std::get_if<compile::Inconclusive>(&outcome)) FAIL(unknown->reason);
  return std::get<compile::Compiled>(std::move(outcome));
}

}  // namespace fheres::test
