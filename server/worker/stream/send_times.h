// Counts sending by job: bytes, the time to make messages, and the time in which a stream delayed the next message.
#ifndef PENSTOCK_SERVER_WORKER_STREAM_SEND_TIMES_H_
#define PENSTOCK_SERVER_WORKER_STREAM_SEND_TIMES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/runtime/clock.h"

namespace penstock::worker {

// Counters of all streams of one job. Thread-safe. Times of concurrent threads may be out of order.
class JobSends {
 public:
  struct Sums {
    uint64_t bytes = 0;
    Nanos sending = 0;
    Nanos full = 0;  // sum over streams, including those that are full now
    uint32_t streams = 0;
  };

  void Opened() { Change(1, 0, 0); }
  void Closed() { Change(-1, 0, 0); }
  // Full records that a stream is full, and Taken that it no longer is. A stream is full while its next message is
  // ready and its carrier has not taken the previous one.
  void Full(Nanos now) { Change(0, 1, now); }
  void Taken(Nanos now) { Change(0, -1, now); }
  void Sent(uint64_t bytes, Nanos took);

  Sums Get(Nanos now) const;

 private:
  void Change(int streams, int full, Nanos now);

  mutable Mutex mutex_;
  Sums sums_ ABSL_GUARDED_BY(mutex_);  // until since_
  int full_ ABSL_GUARDED_BY(mutex_) = 0;
  Nanos since_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Thread-safe.
class SendTimes {
 public:
  // Returns the counters of the job, and creates them if needed. With very many jobs it forgets those without a stream.
  std::shared_ptr<JobSends> Of(const std::string& job);
  std::map<std::string, JobSends::Sums> Get(Nanos now) const;

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<JobSends>> jobs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_STREAM_SEND_TIMES_H_
