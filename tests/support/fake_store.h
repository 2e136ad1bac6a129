// A store in memory, for tests of what uses one, with failures on demand.
#ifndef PENSTOCK_TESTS_SUPPORT_FAKE_STORE_H_
#define PENSTOCK_TESTS_SUPPORT_FAKE_STORE_H_

#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "server/coordinator/store/store.h"

namespace penstock {

// Thread-safe, so that a test may fail it while it is used.
class FakeStore final : public Store {
 public:
  absl::StatusOr<v1::StoredState> Load() override;
  absl::StatusOr<uint64_t> Commit(const std::vector<v1::StoreEvent>& events, uint64_t expected_revision) override;

  // What commits return from now on; OK makes them work again.
  void FailWith(absl::Status status);

 private:
  Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  uint64_t revision_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t term_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, v1::StoredJob> jobs_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, v1::StoredView> views_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, v1::StoredWorker> workers_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::map<uint64_t, v1::BadRecord>> bad_records_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::vector<v1::BadRecord>> decisions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_SUPPORT_FAKE_STORE_H_
