#include "base/runtime/threads.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/cgroup.h"
#include "base/heap.h"
#include "base/mutex.h"

namespace penstock {
namespace {

std::optional<rlim_t> SoftLimit(__rlimit_resource resource) {
  rlimit limit = {};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

}  // namespace

std::string ThreadLimits() {
  std::vector<std::string> limits;
  if (const std::optional<TaskLimit> group = LeastTaskLimit()) {
    limits.push_back(absl::StrCat(group->source, " is ", group->most, ", of which ", group->used, " are in use"));
  }
  if (const auto processes = SoftLimit(RLIMIT_NPROC); processes && geteuid() != 0) {
    limits.push_back(absl::StrCat("RLIMIT_NPROC (ulimit -u) is ", *processes, " for all processes of the user"));
  }
  if (const auto data = SoftLimit(RLIMIT_DATA)) {
    limits.push_back(absl::StrCat("RLIMIT_DATA (ulimit -d) is ", *data >> 20, " MiB, stacks included"));
  }
  if (const auto space = SoftLimit(RLIMIT_AS)) {
    limits.push_back(absl::StrCat("RLIMIT_AS (ulimit -v) is ", *space >> 20, " MiB, stacks included"));
  }
  if (limits.empty()) return "no limit of this process explains it: see kernel.threads-max and the free memory";
  return absl::StrJoin(limits, "; ");
}

absl::StatusOr<std::thread> StartThread(const std::string& name, absl::AnyInvocable<void() &&> run) {
  try {
    std::thread thread([run = std::move(run)]() mutable {
      const ArenaAnchor anchor;
      std::move(run)();
    });
    pthread_setname_np(thread.native_handle(), name.substr(0, 15).c_str());
    return thread;
  } catch (const std::system_error&) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the system refuses the thread ", name, " (", ThreadLimits(), ")"));
  }
}

void ForEachOnThreads(const std::string& name, size_t count, int threads, absl::FunctionRef<void(size_t)> work) {
  std::atomic<size_t> next{0};
  const auto run = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> further;
  for (size_t i = 1; i < std::min(static_cast<size_t>(std::max(threads, 1)), count); ++i) {
    absl::StatusOr<std::thread> thread = StartThread(name, run);
    if (!thread.ok()) break;
    further.push_back(*std::move(thread));
  }
  run();
  for (std::thread& thread : further) thread.join();
}

absl::Status CheckThreads(int need, const std::string& what) {
  Mutex mutex;
  CondVar changed;
  bool over = false;
  std::vector<std::thread> threads;
  absl::Status status;
  while (static_cast<int>(threads.size()) < need) {
    absl::StatusOr<std::thread> thread = StartThread("ps-check", [&] {
      MutexLock lock(&mutex);
      while (!over) changed.Wait(&mutex);
    });
    if (!thread.ok()) {
      status = absl::ResourceExhaustedError(absl::StrCat(what, " needs ", need, " threads, and the system grants ",
                                                         threads.size(), ": ", ThreadLimits(), ". Raise the limit"));
      break;
    }
    threads.push_back(*std::move(thread));
  }
  {
    MutexLock lock(&mutex);
    over = true;
    changed.NotifyAll();
  }
  for (std::thread& thread : threads) thread.join();
  return status;
}

}  // namespace penstock
