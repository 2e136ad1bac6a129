#include "server/common/signals.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

#include "base/check.h"

namespace penstock::server {
namespace {

// SIGUSR2, which is sent only to the waiting thread, ends it.
constexpr int kEnd = SIGUSR2;

sigset_t Watched() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, kEnd);
  return set;
}

}  // namespace

void BlockSignals() {
  const sigset_t set = Watched();
  PS_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
}

SignalWaiter::SignalWaiter(std::function<void()> on_first, std::function<void()> on_second)
    : on_first_(std::move(on_first)), on_second_(std::move(on_second)) {
  BlockSignals();
  thread_ = std::thread([this] { Run(); });
}

SignalWaiter::~SignalWaiter() {
  pthread_kill(thread_.native_handle(), kEnd);
  thread_.join();
}

void SignalWaiter::Run() {
  const sigset_t set = Watched();
  for (int seen = 0;;) {
    int signal = 0;
    if (sigwait(&set, &signal) != 0) continue;
    if (signal == kEnd) return;
    ++seen;
    if (seen == 1) on_first_();
    if (seen == 2) on_second_();
  }
}

}  // namespace penstock::server
