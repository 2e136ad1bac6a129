// The definition of WaitForCall, which storage.h declares. storage.h includes this file.
#ifndef PENSTOCK_PIPELINE_STORAGE_STORAGE_WAIT_H_
#define PENSTOCK_PIPELINE_STORAGE_STORAGE_WAIT_H_

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "base/mutex.h"

namespace penstock::storage {

template <typename T, typename Start>
absl::StatusOr<T> WaitForCall(Start start) {
  struct Answer {
    Mutex mutex;
    CondVar arrived;
    std::optional<absl::StatusOr<T>> value ABSL_GUARDED_BY(mutex);
  };
  // Shared, because the thread that runs `done` may still hold the lock when this function returns.
  const auto answer = std::make_shared<Answer>();
  start([answer](absl::StatusOr<T> value) {
    MutexLock lock(&answer->mutex);
    answer->value.emplace(std::move(value));
    answer->arrived.NotifyAll();
  });
  MutexLock lock(&answer->mutex);
  while (!answer->value.has_value()) answer->arrived.Wait(&answer->mutex);
  return *std::move(answer->value);
}

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_STORAGE_WAIT_H_
