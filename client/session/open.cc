#include "client/session/open.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/host_name.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "client/session/notice_times.h"
#include "client/session/start_checks.h"
#include "pipeline/plan/job_order.h"

namespace penstock::client {
namespace {

constexpr Nanos kAnswerWithin = 10 * kSecond;  // timeout of one call
constexpr Nanos kRetryEvery = 200 * kMillisecond;
constexpr Nanos kWatchPiece = 5 * kSecond;
constexpr Nanos kCloseWithin = 500 * kMillisecond;
constexpr char kIsItRunning[] = "; is the coordinator running, and is its address correct?";
// Maximum number of steps of a window, however small the steps are.
constexpr uint64_t kMostSteps = 4096;

// Describes why a job cannot be read yet, for the error of a timeout.
std::string Progress(const v1::Job& job) {
  std::string text;
  if (job.state() == v1::PREPARING) {
    text = absl::StrCat("job ", job.name(), " is being prepared: ", job.shards_indexed(), " of ", job.shards_total(),
                        " shards are indexed");
  } else {
    text = absl::StrCat("job ", job.name(), " is ready, but no worker serves it");
  }
  if (!job.waiting().empty()) absl::StrAppend(&text, "; it waits: ", job.waiting());
  return text;
}

// Returns true if the job is READY and has a worker. Returns an error for a FAILED or CANCELLED job.
absl::StatusOr<bool> IsOpen(const v1::Job& job) {
  if (job.state() == v1::FAILED) {
    return absl::FailedPreconditionError(absl::StrCat("job ", job.name(), " failed: ", job.error()));
  }
  if (job.state() == v1::CANCELLED) {
    return absl::FailedPreconditionError(absl::StrCat("job ", job.name(), " was cancelled"));
  }
  return job.state() == v1::READY && job.view().ranges_size() > 0;
}

}  // namespace

uint64_t WindowSteps(uint64_t prefetch_steps, uint64_t prefetch_bytes, uint64_t step_bytes) {
  return std::max<uint64_t>(2, std::min(prefetch_steps, prefetch_bytes / std::max<uint64_t>(1, step_bytes)));
}

SessionOpener::SessionOpener(Executor* executor, std::shared_ptr<CoordinatorClient> coordinator, ReaderOptions options,
                             uint64_t process)
    : coordinator_(std::move(coordinator)),
      options_(std::move(options)),
      process_(process),
      strand_(executor),
      mailbox_(std::make_shared<Mailbox>(&strand_)),
      watched_(options_.job),
      again_(&strand_),
      notice_(&strand_) {}

void SessionOpener::Open(Nanos timeout, Done done) {
  mailbox_->Post([this, timeout, done = std::move(done)]() mutable {
    strand_.AssertHere();
    done_ = std::move(done);
    const Nanos now = strand_.clock()->Now();
    deadline_ = now + timeout;
    if (options_.world_size == 0 || options_.rank >= options_.world_size) {
      return End(absl::InvalidArgumentError(
          absl::StrCat("rank ", options_.rank, " of a world size of ", options_.world_size, ": ranks count from 0")));
    }
    if (options_.job.empty()) return End(absl::InvalidArgumentError("no job is named (ReaderOptions::job)"));
    if (!options_.state.empty()) {
      absl::StatusOr<plan::SessionState> saved = plan::ParseState(options_.state);
      if (!saved.ok()) return End(saved.status());
      saved_ = *std::move(saved);
    }
    const plan::Cursor start = saved_.has_value() ? saved_->cursor() : plan::Cursor{options_.epoch, 0};
    request_.set_job(options_.job);
    request_.set_rank(options_.rank);
    request_.set_world_size(options_.world_size);
    request_.set_epoch(start.epoch);
    request_.set_position(start.position);
    request_.set_group(options_.group);
    request_.set_host(HostName());
    request_.set_batch_size(options_.batch_size);
    request_.set_version(std::string(Version()));
    request_.set_process(process_);
    request_.set_continues(options_.continues);
    begun_ = now;
    tell_ = now + kFirstNotice;
    waits_for_ = absl::StrCat(coordinator_->name(), " does not answer", kIsItRunning);
    TellLater();
    Reach();
  });
}

void SessionOpener::Reach() {
  strand_.AssertHere();
  const Nanos left = std::max(deadline_ - strand_.clock()->Now(), 50 * kMillisecond);
  coordinator_->OpenSession(request_, std::min(left, kAnswerWithin),
                            [this, mailbox = mailbox_](absl::StatusOr<v1::OpenSessionReply> reply) {
                              mailbox->Post([this, reply = std::move(reply)]() mutable { Reached(std::move(reply)); });
                            });
}

void SessionOpener::Reached(absl::StatusOr<v1::OpenSessionReply> reply) {
  strand_.AssertHere();
  if (reply.ok() && reply->session_id().empty()) {
    waits_for_ = reply->wait();
    return AskAgain(absl::DeadlineExceededError(absl::StrCat(coordinator_->name(), ": ", reply->wait())));
  }
  if (reply.ok()) {
    // From here on the coordinator has a session. End closes it if it cannot be used.
    session_ = *std::move(reply);
    const absl::Status sound = watched_.Apply(session_.job(), session_.revision()).status();
    if (!sound.ok()) return End(sound);
    return Look();
  }
  if (!absl::IsUnavailable(reply.status()) && !absl::IsDeadlineExceeded(reply.status())) return End(reply.status());
  waits_for_ = absl::StrCat(reply.status().message(), kIsItRunning);
  AskAgain(absl::UnavailableError(waits_for_));
}

void SessionOpener::AskAgain(absl::Status late) {
  strand_.AssertHere();
  const Nanos again = strand_.clock()->Now() + kRetryEvery;
  if (again >= deadline_) return End(std::move(late));
  again_.Set(again, [this] { Reach(); });
}

void SessionOpener::TellLater() {
  strand_.AssertHere();
  if (options_.on_wait == nullptr) return;
  notice_.Set(tell_, [this] {
    strand_.AssertHere();
    options_.on_wait(NoticeText(absl::StrCat(kWaitsToOpen, waits_for_)));
    tell_ = begun_ + NextNotice(tell_ - begun_);
    TellLater();
  });
}

v1::Job SessionOpener::KnownJob() const {
  strand_.AssertHere();
  const net::WatchedJob* const known = watched_.Find(options_.job);
  return known != nullptr ? net::ToJob(*known) : v1::Job();
}

void SessionOpener::Look() {
  strand_.AssertHere();
  const v1::Job job = KnownJob();
  const absl::StatusOr<bool> open = IsOpen(job);
  if (!open.ok()) return End(open.status());
  if (*open) return End(Make());
  const Nanos now = strand_.clock()->Now();
  waits_for_ = absl::StrCat(Progress(job), away_.ok() ? "" : absl::StrCat("; ", away_.message()));
  if (now >= deadline_) return End(absl::DeadlineExceededError(waits_for_));
  if (away_.ok()) return Watch();
  again_.Set(now + std::min(deadline_ - now, kRetryEvery), [this] { Watch(); });
}

void SessionOpener::Watch() {
  strand_.AssertHere();
  const Nanos wait = std::clamp<Nanos>(deadline_ - strand_.clock()->Now(), 0, kWatchPiece);
  const v1::WatchRequest request = watched_.NextRequest(static_cast<uint32_t>(wait / kMillisecond));
  coordinator_->Watch(request, wait + kSecond, [this, mailbox = mailbox_](absl::StatusOr<v1::WatchReply> reply) {
    mailbox->Post([this, reply = std::move(reply)]() mutable { Watched(std::move(reply)); });
  });
}

void SessionOpener::Watched(absl::StatusOr<v1::WatchReply> reply) {
  strand_.AssertHere();
  const absl::StatusOr<net::JobChanges> changes = reply.ok() ? watched_.Apply(*reply) : reply.status();
  away_ = changes.status();
  if (!changes.ok()) {
    watched_.Lost();
  } else if (!changes->removed.empty()) {
    return End(absl::FailedPreconditionError(absl::StrCat("job ", options_.job, " was cancelled")));
  }
  Look();
}

absl::StatusOr<OpenedSession> SessionOpener::Make() {
  strand_.AssertHere();
  const v1::Job known = KnownJob();
  watched_.LetMetadataGo(options_.job);  // JobInfo holds the required part of them
  PS_ASSIGN_OR_RETURN(JobInfo job, MakeJobInfo(known));
  const plan::StepSizes sizes = plan::StepSizesOf(job.batch, job.order->batches(), options_.batch_size);
  PS_RETURN_IF_ERROR(job.order->CheckBatchRows(sizes.first));
  PS_ASSIGN_OR_RETURN(const plan::Steps steps,
                      plan::Steps::Create(job.positions, sizes, job.last, options_.world_size));
  const plan::Cursor start{request_.epoch(), request_.position()};
  PS_RETURN_IF_ERROR(CheckStart({job.name, job.format.get(), job.order_fingerprint, job.pipeline_fingerprint,
                                 options_.accept_new_pipeline, job.order.get()},
                                steps, start, saved_));
  absl::StatusOr<std::shared_ptr<const plan::View>> view = MakeView(known.view(), job.order->num_records());
  if (absl::IsUnimplemented(view.status())) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job ", job.name, ": ", std::string(view.status().message()), ". ", coordinator_->name(), " is penstock ",
        session_.version(), ", and this client is penstock ", std::string(Version()), ": upgrade this client"));
  }
  PS_RETURN_IF_ERROR(view.status());

  SessionOptions opened;
  opened.rank = options_.rank;
  opened.start = start;
  opened.epochs = options_.epochs;
  // Estimate ragged columns by the mean record size: no better estimate is known in advance.
  const uint64_t row_bytes = job.format->memory_bytes + (job.format->ragged ? job.mean_record_bytes : 0);
  const uint64_t step_bytes = row_bytes * (steps.largest() / steps.world_size());
  opened.window_steps = WindowSteps(options_.prefetch_steps, options_.prefetch_bytes, step_bytes);
  opened.most_window_steps =
      std::max(opened.window_steps, WindowSteps(kMostSteps, options_.prefetch_bytes, step_bytes));
  // The steps of the window, and two batches that the trainer holds.
  opened.max_free_bytes = (opened.most_window_steps + 2) * (step_bytes + step_bytes / 4 + 65536);
  opened.allocator = options_.allocator;
  opened.open = request_;
  opened.session_id = session_.session_id();
  opened.ticket = session_.ticket();
  opened.watched = watched_;
  opened.on_wait = options_.on_wait;
  opened.on_notice = options_.on_notice;
  return OpenedSession{std::move(job), steps, std::move(opened), *std::move(view)};
}

void SessionOpener::End(absl::StatusOr<OpenedSession> opened) {
  strand_.AssertHere();
  again_.Cancel();
  notice_.Cancel();
  // The callback may destroy this object before `done` returns.
  Done done = std::move(done_);
  if (opened.ok() || session_.session_id().empty()) {
    std::move(done)(std::move(opened));
    return;
  }
  v1::CloseSessionRequest close;
  close.set_session_id(session_.session_id());
  coordinator_->CloseSession(close, kCloseWithin,
                             [mailbox = mailbox_, done = std::move(done), why = opened.status()](const auto&) mutable {
                               mailbox->Post([done = std::move(done), why]() mutable { std::move(done)(why); });
                             });
}

}  // namespace penstock::client
