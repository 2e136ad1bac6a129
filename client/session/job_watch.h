// Follows a job at the coordinator: the part of a session that knows how watches are asked and answered.
#ifndef PENSTOCK_CLIENT_SESSION_JOB_WATCH_H_
#define PENSTOCK_CLIENT_SESSION_JOB_WATCH_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/runtime/strand.h"
#include "client/session/job_info.h"
#include "client/session/mailbox.h"
#include "client/transport/coordinator_client.h"

namespace penstock {

// What a job's description means for one that is being read.
//   a view   the job's present one
//   null     nothing: its view is not sound, and the one of before stands; a coordinator's mistake stops no trainer
//   error    the job is over: replaced, failed or cancelled
absl::StatusOr<std::shared_ptr<const View>> ReadNews(const JobInfo& job, const v1::Job& news);

// Long polls, one at a time, for as long as it lives. A coordinator that is away is asked again, quietly, for as long
// as it takes. For the strand's tasks alone.
class JobWatch {
 public:
  // A view that may be a new one, or why the job is over. On the strand.
  using OnNews = std::function<void(absl::StatusOr<std::shared_ptr<const View>>)>;

  // `revision`: of the job as it is known. The strand outlives this; the mailbox is closed before it goes.
  JobWatch(Strand* strand, std::shared_ptr<Mailbox> mailbox, std::shared_ptr<CoordinatorClient> coordinator,
           std::shared_ptr<const JobInfo> job, uint64_t revision, OnNews on_news);

  void Start();
  void Stop();

 private:
  void Ask();
  void Answered(absl::StatusOr<v1::WatchReply> reply);

  Strand* const strand_;
  const std::shared_ptr<Mailbox> mailbox_;
  const std::shared_ptr<CoordinatorClient> coordinator_;
  const std::shared_ptr<const JobInfo> job_;
  const OnNews on_news_;
  uint64_t revision_ ABSL_GUARDED_BY(strand_);
  bool stopped_ ABSL_GUARDED_BY(strand_) = false;
  Nanos backoff_ ABSL_GUARDED_BY(strand_) = 0;
  StrandTimer again_ ABSL_GUARDED_BY(strand_);
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SESSION_JOB_WATCH_H_
