// Starts threads. The system may refuse a thread because of a control group's pids.max, the user's limit of processes,
// or the process's limit of memory.
#ifndef PENSTOCK_BASE_RUNTIME_THREADS_H_
#define PENSTOCK_BASE_RUNTIME_THREADS_H_

#include <string>
#include <thread>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

// Starts a thread. Its name in ps and perf is the first 15 characters of `name`. Returns ResourceExhausted if the
// system refuses the thread; the message lists the limits.
absl::StatusOr<std::thread> StartThread(const std::string& name, absl::AnyInvocable<void() &&> run);

// Checks, by starting and ending them, that the system grants `need` more threads now. Otherwise returns
// ResourceExhausted with the number that it grants, and the limits. `what` needs the threads, such as "a worker".
absl::Status CheckThreads(int need, const std::string& what);

// Describes the limits on the threads of this process.
std::string ThreadLimits();

}  // namespace penstock

#endif  // PENSTOCK_BASE_RUNTIME_THREADS_H_
