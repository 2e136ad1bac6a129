// Handles SIGTERM and SIGINT while a command writes files or reads rows.
#ifndef PENSTOCK_CLIENT_CLI_STOP_SIGNALS_H_
#define PENSTOCK_CLIENT_CLI_STOP_SIGNALS_H_

#include <stop_token>
#include <string>
#include <thread>

#include "base/owned_fd.h"
#include "base/runtime/clock.h"

namespace penstock::cli {

// During the lifetime of this object, the first of these signals requests a stop. A signal during the lifetime of an
// earlier object counts as the first. A second signal ends the process at once. If the object still exists kPatience
// after the first signal, it prints `remains` on stderr and ends the process. An ignored SIGINT stays ignored.
// Destruction restores the previous handlers. At most one object may exist at a time.
class StopSignals {
 public:
  static constexpr Nanos kPatience = 20 * kSecond;

  explicit StopSignals(std::string remains);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  std::stop_token token() const { return stop_.get_token(); }

  // Returns the signal that arrived during the lifetime of any object of this class, or 0.
  static int Came();

 private:
  void Wait();

  const std::string remains_;
  std::stop_source stop_;
  OwnedFd ended_;
  std::thread thread_;
};

// Returns the name of a signal: "SIGTERM".
std::string SignalName(int signal);

// Ends the process as the signal would have.
[[noreturn]] void DieOf(int signal);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_STOP_SIGNALS_H_
