#pragma once

#include "command.hpp"
#include "options.hpp"

namespace fheres::cli {

/// What every `fheres client` command takes.
struct ClientOptions {
  std::string workload;
  std::string secret;
  CommonOptions common;
  PlanningOptions planning;
};

void add_client_options(Command& command, ClientOptions& options);
/// `client decrypt`, in client_decrypt.cpp.
void add_client_decrypt(Command& client, Action& action);

}  // namespace fheres::cli
