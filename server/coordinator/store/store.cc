#include "server/coordinator/store/store.h"

#include <memory>
#include <optional>
#include <utility>

#include "base/mutex.h"

namespace penstock::coordinator {

CommitOutcome WaitForOutcome(absl::FunctionRef<void(Store::Done)> begin) {
  struct Ended {
    Mutex mutex;
    CondVar changed;
    std::optional<CommitOutcome> outcome ABSL_GUARDED_BY(mutex);
  };
  const auto ended = std::make_shared<Ended>();  // the store may still hold it when this returns
  begin([ended](CommitOutcome outcome) {
    MutexLock lock(&ended->mutex);
    ended->outcome = std::move(outcome);
    ended->changed.NotifyAll();
  });
  MutexLock lock(&ended->mutex);
  while (!ended->outcome.has_value()) ended->changed.Wait(&ended->mutex);
  return *std::move(ended->outcome);
}

}  // namespace penstock::coordinator
