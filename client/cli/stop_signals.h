// SIGTERM and SIGINT while something is written that had better be taken back.
#ifndef PENSTOCK_CLIENT_CLI_STOP_SIGNALS_H_
#define PENSTOCK_CLIENT_CLI_STOP_SIGNALS_H_

#include <stop_token>
#include <string>
#include <thread>

#include "base/owned_fd.h"
#include "base/runtime/clock.h"

namespace penstock::cli {

// As long as it lives the first of these signals requests a stop; the second ends the process at once, and so does the
// time kPatience after the first, with `remains` on stderr. Otherwise signals do what they did before. One at a time.
class StopSignals {
 public:
  static constexpr Nanos kPatience = 20 * kSecond;

  explicit StopSignals(std::string remains);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  std::stop_token token() const { return stop_.get_token(); }

  // The one that came while any of these lived; 0: none.
  static int Came();

 private:
  void Wait();

  const std::string remains_;
  std::stop_source stop_;
  OwnedFd ended_;
  std::thread thread_;
};

// "SIGTERM"
std::string SignalName(int signal);

// Ends the process as the signal would have.
[[noreturn]] void DieOf(int signal);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_STOP_SIGNALS_H_
