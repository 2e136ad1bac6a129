#include "client/session/job_watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::client {
namespace {

constexpr uint32_t kWaitMs = 20000;
constexpr Nanos kWatchTimeout = 25 * kSecond;
constexpr Nanos kFirstWatchBackoff = 200 * kMillisecond;
constexpr Nanos kMaxWatchBackoff = 2 * kSecond;

}  // namespace

absl::StatusOr<std::shared_ptr<const plan::View>> ReadNews(const JobInfo& job, const net::WatchedJob& watched) {
  const v1::JobRecord& news = watched.record;
  if (news.uid() != job.uid) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job.name, " was replaced by another submission of that name; open it again"));
  }
  if (news.state() == v1::FAILED) {
    return absl::FailedPreconditionError(absl::StrCat("job ", job.name, " failed: ", news.error()));
  }
  if (news.state() == v1::CANCELLED) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job.name, " was cancelled", news.error().empty() ? "" : ": ", news.error()));
  }
  if (watched.view == nullptr) return nullptr;
  absl::StatusOr<std::shared_ptr<const plan::View>> view = MakeView(*watched.view, job.order->num_records());
  return view.ok() ? *std::move(view) : nullptr;
}

JobWatch::JobWatch(Strand* strand, std::shared_ptr<Mailbox> mailbox, std::shared_ptr<CoordinatorClient> coordinator,
                   std::shared_ptr<const JobInfo> job, net::JobMirror watched, OnNews on_news, OnDecided on_decided,
                   OnPause on_pause)
    : strand_(strand),
      mailbox_(std::move(mailbox)),
      coordinator_(std::move(coordinator)),
      job_(std::move(job)),
      on_news_(std::move(on_news)),
      on_decided_(std::move(on_decided)),
      on_pause_(std::move(on_pause)),
      watched_(std::move(watched)),
      again_(strand) {}

void JobWatch::Start() {
  strand_->AssertHere();
  if (const net::WatchedJob* const job = watched_.Find(job_->name); job != nullptr) {
    PassDecisions(*job);
    on_pause_(net::PausedText(job_->name, job->record.paused_by()));
  }
  Ask();
}

void JobWatch::Stop() {
  strand_->AssertHere();
  stopped_ = true;
  again_.Cancel();
}

void JobWatch::Ask() {
  strand_->AssertHere();
  coordinator_->Watch(watched_.NextRequest(kWaitMs), kWatchTimeout,
                      [this, mailbox = mailbox_](absl::StatusOr<v1::WatchReply> reply) {
                        mailbox->Post([this, reply = std::move(reply)]() mutable { Answered(std::move(reply)); });
                      });
}

void JobWatch::Answered(absl::StatusOr<v1::WatchReply> reply) {
  strand_->AssertHere();
  if (stopped_) return;
  const absl::StatusOr<net::JobChanges> changes = reply.ok() ? watched_.Apply(*reply) : reply.status();
  if (!changes.ok()) {
    // The coordinator is unavailable. Trainers continue without it. A restarted coordinator may use other revisions.
    watched_.Lost();
    backoff_ = std::clamp(2 * backoff_, kFirstWatchBackoff, kMaxWatchBackoff);
    again_.Set(strand_->clock()->Now() + backoff_, [this] { Ask(); });
    return;
  }
  backoff_ = 0;
  for (const net::WatchedJob& job : changes->jobs) PassOn(job);
  if (!changes->removed.empty()) {
    on_news_(absl::FailedPreconditionError(absl::StrCat("job ", job_->name, " was cancelled")));
  }
  Ask();
}

v1::HeldJob JobWatch::Held() const {
  strand_->AssertHere();
  return watched_.Held(job_->name);
}

void JobWatch::Take(const v1::JobUpdate& update, uint64_t revision) {
  strand_->AssertHere();
  const absl::StatusOr<net::WatchedJob> job = watched_.Apply(update, revision);
  if (!stopped_ && job.ok() && job->record.state() == v1::READY) PassOn(*job);
}

// Passes the decisions on first, because the rows that a new view makes the core request follow them.
void JobWatch::PassOn(const net::WatchedJob& job) {
  strand_->AssertHere();
  PassDecisions(job);
  on_pause_(net::PausedText(job_->name, job.record.paused_by()));
  on_news_(ReadNews(*job_, job));
}

void JobWatch::PassDecisions(const net::WatchedJob& job) {
  strand_->AssertHere();
  if (job.record.uid() != job_->uid || job.decided == nullptr) return;
  const std::vector<uint64_t>& all = *job.decided;
  // A coordinator that lost its store starts a new list.
  if (all.size() < decided_) decided_ = 0;
  if (all.size() == decided_) return;
  const std::vector<uint64_t> fresh(all.begin() + static_cast<std::ptrdiff_t>(decided_), all.end());
  decided_ = all.size();
  on_decided_(fresh);
}

}  // namespace penstock::client
