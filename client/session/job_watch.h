// Follows a job at the coordinator: the part of a session that knows how watches are asked and answered.
#ifndef PENSTOCK_CLIENT_SESSION_JOB_WATCH_H_
#define PENSTOCK_CLIENT_SESSION_JOB_WATCH_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/runtime/mailbox.h"
#include "base/runtime/strand.h"
#include "client/session/job_info.h"
#include "client/transport/coordinator_client.h"
#include "net/job_mirror.h"

namespace penstock {

// What is told of a job means for one that is being read.
//   a view   the job's present one
//   null     nothing: there is no view or it is not sound, and the one of before stands; a coordinator's mistake
//            stops no trainer
//   error    the job is over: replaced, failed or cancelled
absl::StatusOr<std::shared_ptr<const View>> ReadNews(const JobInfo& job, const WatchedJob& news);

// Long polls, one at a time, for as long as it lives. A coordinator that is away is asked again, quietly, for as long
// as it takes. For the strand's tasks alone.
class JobWatch {
 public:
  // A view that may be a new one, or why the job is over. On the strand.
  using OnNews = std::function<void(absl::StatusOr<std::shared_ptr<const View>>)>;

  // `watched`: the job as it is known. The strand outlives this; the mailbox is closed before it goes.
  JobWatch(Strand* strand, std::shared_ptr<Mailbox> mailbox, std::shared_ptr<CoordinatorClient> coordinator,
           std::shared_ptr<const JobInfo> job, JobMirror watched, OnNews on_news);

  void Start();
  void Stop();

  // What is known, for another call that brings the job.
  v1::HeldJob Held() const;
  // The job as that call brought it.
  void Take(const v1::JobUpdate& update, uint64_t revision);

 private:
  void Ask();
  void Answered(absl::StatusOr<v1::WatchReply> reply);

  Strand* const strand_;
  const std::shared_ptr<Mailbox> mailbox_;
  const std::shared_ptr<CoordinatorClient> coordinator_;
  const std::shared_ptr<const JobInfo> job_;
  const OnNews on_news_;
  JobMirror watched_ ABSL_GUARDED_BY(strand_);
  bool stopped_ ABSL_GUARDED_BY(strand_) = false;
  Nanos backoff_ ABSL_GUARDED_BY(strand_) = 0;
  StrandTimer again_ ABSL_GUARDED_BY(strand_);
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SESSION_JOB_WATCH_H_
