#include "client/session/job_watch.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr uint32_t kWaitMs = 20000;
constexpr Nanos kTimeout = 25 * kSecond;
constexpr Nanos kFirstBackoff = 200 * kMillisecond;
constexpr Nanos kMaxBackoff = 2 * kSecond;

}  // namespace

absl::StatusOr<std::shared_ptr<const View>> ReadNews(const JobInfo& job, const v1::Job& news) {
  if (news.uid() != job.uid) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job.name, " was replaced by another submission of that name; open it again"));
  }
  if (news.state() == v1::FAILED) {
    return absl::FailedPreconditionError(absl::StrCat("job ", job.name, " failed: ", news.error()));
  }
  if (news.state() == v1::CANCELLED) {
    return absl::FailedPreconditionError(absl::StrCat("job ", job.name, " was cancelled"));
  }
  absl::StatusOr<std::shared_ptr<const View>> view = MakeView(news.view(), job.offsets->num_records());
  return view.ok() ? *std::move(view) : nullptr;
}

JobWatch::JobWatch(Strand* strand, std::shared_ptr<Mailbox> mailbox, std::shared_ptr<CoordinatorClient> coordinator,
                   std::shared_ptr<const JobInfo> job, uint64_t revision, OnNews on_news)
    : strand_(strand),
      mailbox_(std::move(mailbox)),
      coordinator_(std::move(coordinator)),
      job_(std::move(job)),
      on_news_(std::move(on_news)),
      revision_(revision),
      again_(strand) {}

void JobWatch::Start() {
  strand_->AssertHere();
  Ask();
}

void JobWatch::Stop() {
  strand_->AssertHere();
  stopped_ = true;
  again_.Cancel();
}

void JobWatch::Ask() {
  strand_->AssertHere();
  v1::WatchRequest request;
  request.set_job(job_->name);
  request.set_wait_ms(kWaitMs);
  request.set_known_revision(revision_);
  coordinator_->Watch(request, kTimeout, [this, mailbox = mailbox_](absl::StatusOr<v1::WatchReply> reply) {
    mailbox->Post([this, reply = std::move(reply)]() mutable { Answered(std::move(reply)); });
  });
}

void JobWatch::Answered(absl::StatusOr<v1::WatchReply> reply) {
  strand_->AssertHere();
  if (stopped_) return;
  if (!reply.ok()) {
    // Away. Trainers go on without it; a coordinator that comes back may count revisions anew.
    revision_ = 0;
    backoff_ = std::clamp(2 * backoff_, kFirstBackoff, kMaxBackoff);
    again_.Set(strand_->clock()->Now() + backoff_, [this] { Ask(); });
    return;
  }
  revision_ = reply->revision();
  backoff_ = 0;
  for (const v1::Job& job : reply->jobs()) {
    if (job.name() == job_->name) on_news_(ReadNews(*job_, job));
  }
  for (const std::string& removed : reply->removed()) {
    if (removed == job_->name) {
      on_news_(absl::FailedPreconditionError(absl::StrCat("job ", job_->name, " was cancelled")));
    }
  }
  Ask();
}

}  // namespace penstock
