#include "pipeline/storage/run_calls.h"

#include <memory>

#include "base/mutex.h"

namespace penstock::storage {

void RunCalls(size_t count, size_t under_way,
              const std::function<void(size_t i, absl::AnyInvocable<void() &&> ended)>& start) {
  struct Running {
    Mutex mutex;
    CondVar fewer;
    size_t calls ABSL_GUARDED_BY(mutex) = 0;
  };
  // Shared, because the last call may still hold the lock after this function has returned.
  const auto running = std::make_shared<Running>();
  for (size_t i = 0; i < count; ++i) {
    {
      MutexLock lock(&running->mutex);
      while (running->calls >= under_way) running->fewer.Wait(&running->mutex);
      ++running->calls;
    }
    start(i, [running] {
      MutexLock lock(&running->mutex);
      --running->calls;
      running->fewer.NotifyAll();
    });
  }
  MutexLock lock(&running->mutex);
  while (running->calls > 0) running->fewer.Wait(&running->mutex);
}

}  // namespace penstock::storage
