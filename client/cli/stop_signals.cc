#include "client/cli/stop_signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/check.h"

namespace penstock::cli {
namespace {

// State that the signal handler accesses.
std::atomic<int> came{0};
std::atomic<int> event{-1};
static_assert(std::atomic<int>::is_always_lock_free);

void Handle(int signal) {
  if (came.exchange(signal) != 0) _exit(128 + signal);
  const uint64_t one = 1;
  static_cast<void>(!write(event.load(), &one, sizeof(one)));
}

struct sigaction before_term, before_int;

}  // namespace

StopSignals::StopSignals(std::string remains) : remains_(std::move(remains)), ended_(eventfd(0, EFD_CLOEXEC)) {
  // Never closed: a handler may run during destruction.
  static const int first = eventfd(0, EFD_CLOEXEC);
  PS_CHECK(first >= 0 && ended_.get() >= 0);
  event.store(first);
  thread_ = std::thread([this] { Wait(); });
  struct sigaction action = {};
  action.sa_handler = Handle;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, &before_term);
  sigaction(SIGINT, &action, &before_int);
  // A program that is started in the background without job control inherits an ignored SIGINT. Keep it ignored.
  if (before_int.sa_handler == SIG_IGN) sigaction(SIGINT, &before_int, nullptr);
}

StopSignals::~StopSignals() {
  sigaction(SIGTERM, &before_term, nullptr);
  sigaction(SIGINT, &before_int, nullptr);
  const uint64_t one = 1;
  static_cast<void>(!write(ended_.get(), &one, sizeof(one)));
  thread_.join();
}

void StopSignals::Wait() {
  pollfd waited[] = {{.fd = ended_.get(), .events = POLLIN, .revents = 0},
                     {.fd = event.load(), .events = POLLIN, .revents = 0}};
  while (poll(waited, 2, -1) < 0) {
  }
  if (waited[0].revents != 0) return;
  stop_.request_stop();
  pollfd end = waited[0];
  if (poll(&end, 1, static_cast<int>(kPatience / kMillisecond)) != 0) return;
  std::fprintf(stderr, "%s\n", remains_.c_str());
  std::fflush(stderr);
  _exit(128 + came.load());
}

int StopSignals::Came() { return came.load(); }

std::string SignalName(int signal) { return signal == SIGINT ? "SIGINT" : "SIGTERM"; }

void DieOf(int signal) {
  std::fflush(nullptr);
  ::signal(signal, SIG_DFL);
  raise(signal);
  _exit(128 + signal);
}

}  // namespace penstock::cli
