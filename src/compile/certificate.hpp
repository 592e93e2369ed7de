#pragma once

#include <cstddef>
#include <optional>

#include <fheres/compile/compile.hpp>

#include "problem.hpp"

namespace fheres::compile {

/// A room of Problem::rooms, and a stage; none: initial placement.
struct CertificateAt {
  std::size_t room = 0;
  std::optional<std::size_t> stage;
};

/// A sum that no plan gets around: values start at a location beyond its budget, or a stage's reservations, what it
/// requires, and what cannot leave exceed it. The first such stage; nothing where there is none. `only`: looked for there
/// and nowhere else.
std::optional<Infeasible> find_certificate(const Workload& workload, const Problem& problem,
                                           std::optional<CertificateAt> only = {});

/// The same over several budgeted locations at once: what a stage needs at a location and at all that its only copies may
/// be moved to, and only copies that are never anywhere else, exceed all their budgets. Asked where find_certificate finds
/// nothing.
std::optional<Infeasible> find_joint_certificate(const Workload& workload, const Problem& problem);

}  // namespace fheres::compile
