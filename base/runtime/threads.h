// Starts threads. The system may refuse a thread because of a control group's pids.max, the user's limit of processes,
// or the process's limit of memory.
#ifndef PENSTOCK_BASE_RUNTIME_THREADS_H_
#define PENSTOCK_BASE_RUNTIME_THREADS_H_

#include <cstddef>
#include <string>
#include <thread>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

// Starts a thread. Its name in ps and perf is the first 15 characters of `name`. Returns ResourceExhausted if the
// system refuses the thread; the message lists the limits.
absl::StatusOr<std::thread> StartThread(const std::string& name, absl::AnyInvocable<void() &&> run);

// Calls work(0) to work(count - 1), each once, on the calling thread and on at most `threads` - 1 further ones, whose
// name is `name`. Uses fewer if the system refuses more. Returns when all calls have returned. `work` must be
// thread-safe.
void ForEachOnThreads(const std::string& name, size_t count, int threads, absl::FunctionRef<void(size_t)> work);

// Checks, by starting and ending them, that the system grants `need` more threads now. Otherwise returns
// ResourceExhausted with the number that it grants, and the limits. `what` needs the threads, such as "a worker".
absl::Status CheckThreads(int need, const std::string& what);

// Describes the limits on the threads of this process.
std::string ThreadLimits();

}  // namespace penstock

#endif  // PENSTOCK_BASE_RUNTIME_THREADS_H_
