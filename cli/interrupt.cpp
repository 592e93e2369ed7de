#include "interrupt.hpp"

#include <csignal>

#include <unistd.h>

#include <fheres/base/file.hpp>

#include "exit_code.hpp"

namespace fheres::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

void end_now() {
  remove_unfinished_files();
  _exit(static_cast<int>(ExitCode::interrupted));
}

extern "C" void exit_on_signal(int) { end_now(); }

extern "C" void flag_on_signal(int) {
  if (interrupted.exchange(true)) end_now();
}

void handle(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction before = {};
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
    sigaction(SIGHUP, &action, nullptr);
}

}  // namespace

void exit_when_interrupted() { handle(exit_on_signal); }

const std::atomic<bool>& interrupt_flag() {
  static const bool installed = [] {
    handle(flag_on_signal);
    // Whoever started the process may have held them back, and a long run has to hear of them.
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    return true;
  }();
  static_cast<void>(installed);
  return interrupted;
}

}  // namespace fheres::cli
