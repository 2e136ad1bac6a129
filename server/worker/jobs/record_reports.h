// Reports to the coordinator the bad records that this worker found.
#ifndef PENSTOCK_SERVER_WORKER_JOBS_RECORD_REPORTS_H_
#define PENSTOCK_SERVER_WORKER_JOBS_RECORD_REPORTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/runtime/executor.h"
#include "base/runtime/strand.h"
#include "penstock/v1/control.pb.h"
#include "server/worker/link/coordinator_link.h"

namespace penstock::worker {

// Keeps records until the coordinator has stored them, and retries failed reports. A strand: it has no threads, and no
// call blocks. Thread-safe. Calls in flight keep it alive.
class RecordReports : public std::enable_shared_from_this<RecordReports> {
 public:
  // Limit of waiting records. Records that arrive while the list is full are dropped.
  static constexpr size_t kMostWaiting = 65536;
  // Limit of waiting records before Add drops the message and the offset of a new one.
  static constexpr size_t kMostMessages = 1024;
  static constexpr size_t kMostInReport = 8192;
  static constexpr Nanos kBetween = 200 * kMillisecond;  // between the starts of two reports
  static constexpr Nanos kRetryAfter = kSecond;

  // `registration` is that of this worker. `link` and `executor` must outlive this.
  RecordReports(const v1::RegisterWorkerRequest& registration, CoordinatorLink* link, Executor* executor);

  // Reports the record of submission `uid` of the job, at once or with the next report.
  void Add(const std::string& job, uint64_t uid, v1::BadRecord record);
  // Reports the waiting records. Calls `done` on the strand after the answers, or after the first failed call. At most
  // one Flush may be in progress.
  void Flush(Task done);
  // Starts no further report, and drops the callback of a Flush in progress or of a later one. Does not cancel a call
  // in flight.
  void Stop();

 private:
  struct Waiting {
    std::string job;
    uint64_t uid = 0;
    v1::BadRecord record;
  };

  void Post(void (RecordReports::*step)());
  void Report() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void Reported(const absl::StatusOr<v1::ReportRecordsReply>& reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void EndFlush() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  v1::ReportRecordsRequest NextReport() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);

  const std::string worker_;
  const uint64_t incarnation_;
  CoordinatorLink* const link_;
  Strand strand_;
  bool stopped_ ABSL_GUARDED_BY(strand_) = false;
  size_t under_way_ ABSL_GUARDED_BY(strand_) = 0;  // records of the call in flight, the first of the waiting ones
  bool reporting_ ABSL_GUARDED_BY(strand_) = false;
  Nanos next_ ABSL_GUARDED_BY(strand_) = 0;  // earliest start of the next report
  std::optional<Task> flushed_ ABSL_GUARDED_BY(strand_);
  StrandTimer timer_ ABSL_GUARDED_BY(strand_){&strand_};

  Mutex mutex_;
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  bool posted_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_JOBS_RECORD_REPORTS_H_
