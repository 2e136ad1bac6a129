// How sending goes, job by job: bytes, the time that making messages takes, and the time in which a stream held the
// next message up.
#ifndef PENSTOCK_SERVER_WORKER_STREAM_SEND_TIMES_H_
#define PENSTOCK_SERVER_WORKER_STREAM_SEND_TIMES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/runtime/clock.h"

namespace penstock {

// Of one job's streams together. Thread-safe; times must not go back.
class JobSends {
 public:
  struct Sums {
    uint64_t bytes = 0;
    Nanos sending = 0;
    Nanos full = 0;  // sum over streams, of those that are full now too
    uint32_t streams = 0;
  };

  void Opened() { Change(1, 0, 0); }
  void Closed() { Change(-1, 0, 0); }
  // A stream's next message is ready, but the one before was not taken yet; and then it was, or the stream ended.
  void Full(Nanos now) { Change(0, 1, now); }
  void Taken(Nanos now) { Change(0, -1, now); }
  void Sent(uint64_t bytes, Nanos took);

  Sums Get(Nanos now) const;

 private:
  void Change(int streams, int full, Nanos now);

  mutable Mutex mutex_;
  Sums sums_ ABSL_GUARDED_BY(mutex_);  // up to since_
  int full_ ABSL_GUARDED_BY(mutex_) = 0;
  Nanos since_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Thread-safe.
class SendTimes {
 public:
  // Of the job; made when it is new. Jobs without a stream are forgotten when there are very many.
  std::shared_ptr<JobSends> Of(const std::string& job);
  std::map<std::string, JobSends::Sums> Get(Nanos now) const;

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<JobSends>> jobs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_STREAM_SEND_TIMES_H_
