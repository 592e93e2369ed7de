#include "interrupt.hpp"

#include <csignal>
#include <cstdint>
#include <ctime>

#include <unistd.h>

#include <fheres/base/file.hpp>

#include "exit_code.hpp"

namespace fheres::cli {
namespace {

std::atomic<bool> interrupted{false};
std::atomic<int> first_signal{0};
std::atomic<std::int64_t> first_ns{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free &&
                  std::atomic<std::int64_t>::is_always_lock_free,
              "a signal handler may only touch lock-free atomics");

// `timeout` tells a process and then its group, so that the process hears the same signal twice.
constexpr std::int64_t kEchoNs = 500'000'000;

std::int64_t now_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void end_now() {
  remove_unfinished_files();
  _exit(static_cast<int>(ExitCode::interrupted));
}

extern "C" void exit_on_signal(int) { end_now(); }

extern "C" void flag_on_signal(int signal) {
  if (!interrupted.exchange(true)) {
    first_ns = now_ns();
    first_signal = signal;
  } else if (signal != first_signal || now_ns() - first_ns > kEchoNs) {
    end_now();
  }
}

// A call that was interrupted goes on where the handler returns. Where it does not, a call that ends is what lets the
// thread sanitizer run the handler, which it holds back while the process waits.
void handle(void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction before = {};
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
    sigaction(SIGHUP, &action, nullptr);
}

}  // namespace

void exit_when_interrupted() { handle(exit_on_signal, 0); }

const std::atomic<bool>& interrupt_flag() {
  static const bool installed = [] {
    handle(flag_on_signal, SA_RESTART);
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
