// Part of a session: follows a job at the coordinator with the watch protocol.
#ifndef PENSTOCK_CLIENT_SESSION_JOB_WATCH_H_
#define PENSTOCK_CLIENT_SESSION_JOB_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/runtime/mailbox.h"
#include "base/runtime/strand.h"
#include "client/session/job_info.h"
#include "client/transport/coordinator_client.h"
#include "net/job_mirror.h"

namespace penstock::client {

// Returns the effect of a job's update on a session that reads it.
//   a view   the job's current view
//   null     no valid view; the session keeps the previous one, so that a mistake of the coordinator does not stop the
//            trainer
//   error    the job has ended: replaced, failed or cancelled
absl::StatusOr<std::shared_ptr<const plan::View>> ReadNews(const JobInfo& job, const net::WatchedJob& news);

// Makes one long poll at a time until Stop. If the coordinator is unavailable, retries without a report and without a
// limit. For tasks of the strand only.
class JobWatch {
 public:
  // Receives the result of ReadNews after an update of the job, and FailedPrecondition if the job no longer exists.
  // Runs on the strand.
  using OnNews = std::function<void(absl::StatusOr<std::shared_ptr<const plan::View>>)>;
  // Receives the records that the coordinator decided to be bad since the last call, or all of them if the coordinator
  // has a new list. Runs on the strand.
  using OnDecided = std::function<void(const std::vector<uint64_t>&)>;

  // Receives the reason why the job's readers wait while it is paused, or "". Runs on the strand.
  using OnPause = std::function<void(std::string)>;

  // `watched` holds the known state of the job. `strand` must outlive this object. `mailbox` must be closed before this
  // object is destroyed.
  JobWatch(Strand* strand, std::shared_ptr<Mailbox> mailbox, std::shared_ptr<CoordinatorClient> coordinator,
           std::shared_ptr<const JobInfo> job, net::JobMirror watched, OnNews on_news, OnDecided on_decided,
           OnPause on_pause);

  void Start();
  void Stop();

  // Returns the known state, for another call whose reply contains the job.
  v1::HeldJob Held() const;
  // Applies the job from the reply of that call. Passes on a READY job.
  void Take(const v1::JobUpdate& update, uint64_t revision);

 private:
  void Ask();
  void Answered(absl::StatusOr<v1::WatchReply> reply);
  void PassOn(const net::WatchedJob& job);
  void PassDecisions(const net::WatchedJob& job);

  Strand* const strand_;
  const std::shared_ptr<Mailbox> mailbox_;
  const std::shared_ptr<CoordinatorClient> coordinator_;
  const std::shared_ptr<const JobInfo> job_;
  const OnNews on_news_;
  const OnDecided on_decided_;
  const OnPause on_pause_;
  net::JobMirror watched_ ABSL_GUARDED_BY(strand_);
  size_t decided_ ABSL_GUARDED_BY(strand_) = 0;  // number of decisions passed on
  bool stopped_ ABSL_GUARDED_BY(strand_) = false;
  Nanos backoff_ ABSL_GUARDED_BY(strand_) = 0;
  StrandTimer again_ ABSL_GUARDED_BY(strand_);
};

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_SESSION_JOB_WATCH_H_
