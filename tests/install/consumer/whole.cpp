// Uses every area at once: reads a document, explains it, runs it with real values, and prints what the tool prints.
#include <iostream>

#include <fheres/documents/load.hpp>
#include <fheres/memory/emulated.hpp>
#include <fheres/report/text.hpp>
#include <fheres/runtime/session.hpp>
#include <fheres/workload/rehearsal.hpp>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const fheres::documents::Loaded loaded = fheres::documents::load(argv[1]);
  if (!loaded.model) return 2;
  const auto& workload = std::get<fheres::workload::Workload>(*loaded.model);
  std::cout << fheres::report::verdict(fheres::workload::rehearse(workload));
  const fheres::runtime::RunReport report =
      fheres::runtime::run(workload, {fheres::memory::make_emulated_driver(), ""}, {});
  std::cout << fheres::report::verdict(report);
  return report.status == fheres::runtime::RunStatus::done ? 0 : 1;
}
