// Logs the records whose rows are masked or substituted, each once, independent of epochs and sessions.
#ifndef PENSTOCK_SERVER_WORKER_JOBS_BAD_RECORD_LOG_H_
#define PENSTOCK_SERVER_WORKER_JOBS_BAD_RECORD_LOG_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/mutex.h"

namespace penstock::worker {

// Thread-safe.
class BadRecordLog {
 public:
  // Limit of remembered and logged records per job. After it one line states that there are more.
  static constexpr size_t kMost = 65536;
  // Logs a line about a job.
  using Say = std::function<void(const std::string& job, const std::string& line)>;

  explicit BadRecordLog(Say say, size_t most = kMost) : say_(std::move(say)), most_(most) {}

  // Logs a bad record. `what` returns the place and the error. It is called only if they are logged. Returns whether
  // the record is new: not found before, or not remembered.
  bool Found(const std::string& job, uint64_t uid, uint64_t record, bool masked, absl::FunctionRef<std::string()> what);
  // Forgets all jobs that are not in `jobs`.
  void Keep(const std::vector<std::string>& jobs);

 private:
  struct Said {
    uint64_t uid = 0;  // uid of the submission
    std::unordered_set<uint64_t> records;
    bool more = false;
  };

  const Say say_;
  const size_t most_;
  Mutex mutex_;
  std::map<std::string, Said> said_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_JOBS_BAD_RECORD_LOG_H_
