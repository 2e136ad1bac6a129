// The audit log: a JSON line for each control call and each rejected call.
#ifndef PENSTOCK_SERVER_AUDIT_AUDIT_LOG_H_
#define PENSTOCK_SERVER_AUDIT_AUDIT_LOG_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/runtime/thread_pool.h"
#include "transport/peer.h"

namespace penstock::server {

// The lines of the log. Thread-safe.
//
// Limits the lines of each peer: at most kBurst at once, and kPerSecond on average. A peer is a host, or a user of this
// host. The next line of the peer has the number of those that were left out. Remembers kMostPeers peers; beyond that,
// all further peers share one limit.
class AuditLines {
 public:
  static constexpr double kBurst = 60, kPerSecond = 5;
  static constexpr size_t kMostPeers = 1024;

  // Returns the line of a call, without a line break, or "" if the peer has used up its limit. `call` is the method
  // of an RPC (server/common/rpc_gate.h) or "HTTP".
  //   {"time": "2026-11-27T00:39:07.536Z", "rpc": "Coordinator/Cancel", "peer": "10.0.0.7:5123", "name": "trainer-7",
  //    "object": "imagenet", "outcome": "OK"}
  // `name` is the peer's authenticated name, otherwise the first name in its certificate, and `object` a job, a worker,
  // a revoked name or the path of a page; both may be absent. A call that failed has "message", and "left_out" counts
  // lines. `now` is monotonic, and `time` is for display.
  std::string LineOf(const transport::Peer& peer, std::string_view call, std::string_view object,
                     const absl::Status& outcome, Nanos now, absl::Time time);

 private:
  struct Allowance {
    double lines = kBurst;
    Nanos at = 0;
    uint64_t left_out = 0;
  };

  Mutex mutex_;
  std::map<std::string, Allowance> allowances_ ABSL_GUARDED_BY(mutex_);  // by peer; "": all further ones
};

// The log in a file. Thread-safe. Record() does not block: a thread of its own writes.
class AuditLog {
 public:
  // Opens the file for appending, and creates it with mode 0600. Errors name the file.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(const std::string& path);

  // Waits for the line that is being written, and drops the others. A disk that hangs blocks it: a daemon keeps its log
  // until the process ends.
  ~AuditLog();

  // Blocks until all lines so far are written, or until `within` has passed.
  void Flush(std::chrono::nanoseconds within);

  // Adds the line of a call. Drops it if 4096 lines wait, as on a disk that hangs, and then logs an error.
  void Record(const transport::Peer& peer, std::string_view call, std::string_view object, const absl::Status& outcome);

 private:
  AuditLog(std::string path, int fd);
  void Write(const std::string& line);

  const std::string path_;
  const int fd_;
  AuditLines lines_;
  Mutex failed_mutex_;
  std::string failed_ ABSL_GUARDED_BY(failed_mutex_);  // the last reason why a line was not written, which was logged
  ThreadPool writer_;
};

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_AUDIT_AUDIT_LOG_H_
