// The part of a session that asks: the control thread, and the calls to the coordinator.
#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/session/session.h"
#include "net/view_proto.h"

namespace penstock {
namespace {

constexpr Nanos kReportEvery = kSecond;
constexpr absl::Duration kReportTimeout = absl::Seconds(2);
constexpr uint32_t kWatchMs = 20000;
constexpr absl::Duration kWatchTimeout = absl::Seconds(25);
constexpr absl::Duration kReopenTimeout = absl::Seconds(5);
// Between watches while the coordinator is away: quietly, for as long as it takes.
constexpr Nanos kFirstWatchBackoff = 200 * kMillisecond;
constexpr Nanos kMaxWatchBackoff = 2 * kSecond;

template <typename... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <typename... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

}  // namespace

void Session::Control() {
  for (;;) {
    std::vector<Command> commands;
    Nanos now = 0;
    {
      MutexLock lock(&mutex_);
      for (;;) {
        if (stopping_) return;
        wake_ = false;
        now = clock_->Now();
        tracker_.Tick(now);
        commands = tracker_.TakeCommands();
        const Nanos next = std::min(tracker_.NextTick(now), NextCall());
        if (!commands.empty() || NextCall() <= now) break;
        control_wake_.WaitFor(&mutex_, std::chrono::nanoseconds(std::max(next - now, kMillisecond)));
      }
    }
    CarryOut(std::move(commands));
    Coordinate(now);
  }
}

void Session::CarryOut(std::vector<Command> commands) {
  for (Command& command : commands) {
    std::visit(Overloaded{
                   [&](const BookStep& book) { Book(book); },
                   [&](const OpenStream& open) {
                     v1::ClientMessage message;
                     {
                       MutexLock lock(&mutex_);
                       ++open_streams_;
                       message.mutable_open()->set_session_id(session_id_);
                     }
                     v1::Open* first = message.mutable_open();
                     first->set_job(job_.name);
                     first->set_job_uid(job_.uid);
                     first->set_order_fingerprint(job_.order_fingerprint);
                     first->set_pipeline_fingerprint(job_.pipeline_fingerprint);
                     first->set_rank(options_.rank);
                     first->set_world_size(static_cast<uint32_t>(steps_.world_size()));
                     first->set_step_rows(static_cast<uint32_t>(steps_.step_size()));
                     std::shared_ptr<WorkerStream> stream =
                         transport_->Open(open.stream, open.address, shared_from_this());
                     stream->Send(std::move(message));
                     MutexLock lock(&mutex_);
                     if (closed_early_.erase(open.stream) == 0) streams_[open.stream] = std::move(stream);
                   },
                   [&](const CloseStream& close) {
                     std::shared_ptr<WorkerStream> stream;
                     {
                       MutexLock lock(&mutex_);
                       const auto it = streams_.find(close.stream);
                       if (it != streams_.end()) stream = it->second;
                     }
                     if (stream != nullptr) stream->Cancel();
                   },
                   [&](const SendView& send) {
                     v1::ClientMessage message;
                     *message.mutable_use_view()->mutable_view() = ToProto(*send.view);
                     Send(send.stream, std::move(message));
                   },
                   [&](const SendGrant& send) {
                     v1::ClientMessage message;
                     v1::Grant* grant = message.mutable_grant();
                     grant->set_view_term(send.view_term);
                     grant->set_view_number(send.view_number);
                     grant->set_epoch(send.epoch);
                     grant->set_begin(send.begin);
                     grant->set_end(send.end);
                     Send(send.stream, std::move(message));
                   },
                   [&](const SendFetch& send) {
                     v1::ClientMessage message;
                     v1::Fetch* fetch = message.mutable_fetch();
                     fetch->set_epoch(send.epoch);
                     fetch->mutable_positions()->Add(send.rows.begin(), send.rows.end());
                     Send(send.stream, std::move(message));
                   },
                   [&](const SendWaiting& send) {
                     v1::ClientMessage message;
                     message.mutable_waiting()->set_epoch(send.epoch);
                     message.mutable_waiting()->set_begin(send.begin);
                     Send(send.stream, std::move(message));
                   },
               },
               command);
  }
}

void Session::Book(const BookStep& book) {
  auto step = std::make_shared<Booked>();
  step->span = book.span;
  step->slice = book.slice;
  step->valid.resize(book.slice.size());
  step->source.resize(book.slice.size(), kOwnRecord);
  step->builder = BatchBuilder::Create(job_.format, book.slice.size(), memory_,
                                       {book.span.epoch, book.span.begin + book.slice.begin});
  MutexLock lock(&mutex_);
  if (step->builder == nullptr) {
    fatal_ = absl::ResourceExhaustedError(
        absl::StrCat("no memory for a batch of ", book.slice.size(), " rows of ", job_.format->memory_bytes,
                     " bytes: the allocator gave none; lower prefetch_bytes or prefetch_steps"));
    ready_.NotifyAll();
    return;
  }
  booked_[book.ordinal] = std::move(step);
}

void Session::Send(uint64_t stream, v1::ClientMessage message) {
  std::shared_ptr<WorkerStream> open;
  {
    MutexLock lock(&mutex_);
    const auto it = streams_.find(stream);
    if (it != streams_.end()) open = it->second;
  }
  if (open != nullptr) open->Send(std::move(message));
}

Nanos Session::NextCall() const {
  const Nanos watch = watching_ ? INT64_MAX : next_watch_;
  const Nanos report = reporting_ ? INT64_MAX : next_report_;
  return std::min(watch, report);
}

void Session::Coordinate(Nanos now) {
  bool watch = false, report = false, reopen = false;
  {
    MutexLock lock(&mutex_);
    if (stopping_) return;
    if (!watching_ && now >= next_watch_) watch = watching_ = true;
    if (!reporting_ && now >= next_report_) {
      reporting_ = true;
      (reopen_ ? reopen : report) = true;
      next_report_ = now + kReportEvery;
    }
  }
  if (watch) StartWatch();
  if (report) StartReport(now);
  if (reopen) StartReopen();
}

void Session::StartWatch() {
  v1::WatchRequest request;
  {
    MutexLock lock(&mutex_);
    request = watched_.NextRequest(kWatchMs);
  }
  coordinator_->Watch(request, kWatchTimeout, [weak = weak_from_this()](absl::StatusOr<v1::WatchReply> reply) {
    const std::shared_ptr<Session> session = weak.lock();
    if (session == nullptr) return;
    auto held = std::make_shared<absl::StatusOr<v1::WatchReply>>(std::move(reply));
    Session* const raw = session.get();
    session->pool_.Add([raw, held] { raw->OnWatched(std::move(*held)); });
  });
}

void Session::OnWatched(absl::StatusOr<v1::WatchReply> reply) {
  absl::StatusOr<JobChanges> changes = reply.status();
  {
    MutexLock lock(&mutex_);
    if (reply.ok()) changes = watched_.Apply(*reply);
  }
  if (changes.ok()) {
    for (const WatchedJob& job : changes->jobs) TakeJob(job);
  }
  MutexLock lock(&mutex_);
  watching_ = false;
  if (changes.ok()) {
    next_watch_ = 0;
    watch_backoff_ = kFirstWatchBackoff;
    if (!changes->removed.empty()) {
      job_gone_ = absl::FailedPreconditionError(absl::StrCat("job ", job_.name, " was cancelled"));
      ready_.NotifyAll();
    }
  } else {
    // Away. Trainers go on without it; a coordinator that comes back may count revisions anew.
    watched_.Lost();
    watch_backoff_ = std::clamp(2 * watch_backoff_, kFirstWatchBackoff, kMaxWatchBackoff);
    next_watch_ = clock_->Now() + watch_backoff_;
  }
  WakeControl();
}

void Session::TakeJob(const WatchedJob& watched) {
  absl::Status fatal;
  const v1::JobRecord& job = watched.record;
  if (job.uid() != job_.uid) {
    fatal = absl::FailedPreconditionError(
        absl::StrCat("job ", job_.name, " was replaced by another submission of that name; open it again"));
  } else if (job.state() == v1::FAILED) {
    fatal = absl::FailedPreconditionError(absl::StrCat("job ", job_.name, " failed: ", job.error()));
  } else if (job.state() == v1::CANCELLED) {
    fatal = absl::FailedPreconditionError(absl::StrCat("job ", job_.name, " was cancelled"));
  }
  if (!fatal.ok()) {
    MutexLock lock(&mutex_);
    job_gone_ = fatal;
    ready_.NotifyAll();
    return;
  }
  if (watched.view == nullptr) return;
  absl::StatusOr<std::shared_ptr<const View>> view = MakeView(*watched.view, job_.offsets->num_records());
  if (!view.ok()) return;  // the view of before stands; a coordinator's mistake does not stop a trainer
  MutexLock lock(&mutex_);
  tracker_.ViewChanged(*std::move(view), clock_->Now());
  WakeControl();
}

v1::ReportSessionRequest Session::MakeReport(Nanos now) {
  v1::ReportSessionRequest request;
  MutexLock lock(&mutex_);
  request.set_session_id(session_id_);
  const Cursor cursor = tracker_.cursor();
  request.set_epoch(cursor.epoch);
  request.set_position(cursor.position);
  const double seconds = std::max(1e-3, static_cast<double>(now - last_report_) / kSecond);
  request.set_rows_per_second(static_cast<double>(stats_.rows - reported_rows_) / seconds);
  const double waited = static_cast<double>(waited_ - reported_wait_) / kSecond;
  request.set_wait_fraction(std::clamp(waited / seconds, 0.0, 1.0));
  request.set_rows(stats_.rows);
  for (std::string& worker : tracker_.FailedWorkers()) request.add_failed_workers(std::move(worker));
  // What a report under way says may not arrive.
  unconfirmed_bad_.insert(unconfirmed_bad_.end(), bad_records_.begin(), bad_records_.end());
  bad_records_.clear();
  for (const uint64_t record : unconfirmed_bad_) request.add_bad_records(record);
  reported_rows_ = stats_.rows;
  reported_wait_ = waited_;
  last_report_ = now;
  return request;
}

void Session::StartReport(Nanos now) {
  coordinator_->ReportSession(MakeReport(now), kReportTimeout,
                              [weak = weak_from_this()](const absl::StatusOr<v1::ReportSessionReply>& reply) {
                                if (const auto session = weak.lock()) session->OnReported(reply);
                              });
}

void Session::OnReported(const absl::StatusOr<v1::ReportSessionReply>& reply) {
  MutexLock lock(&mutex_);
  reporting_ = false;
  if (reply.ok()) {
    reopen_ = reply->unknown_session();
    if (!reply->unknown_session()) unconfirmed_bad_.clear();
  }
  WakeControl();
}

void Session::StartReopen() {
  v1::OpenSessionRequest request = options_.open;
  {
    MutexLock lock(&mutex_);
    const Cursor cursor = tracker_.cursor();
    request.set_epoch(cursor.epoch);
    request.set_position(cursor.position);
    request.set_resumes(session_id_);
    *request.mutable_held() = watched_.Held(job_.name);
  }
  coordinator_->OpenSession(request, kReopenTimeout,
                            [weak = weak_from_this()](absl::StatusOr<v1::OpenSessionReply> reply) {
                              const std::shared_ptr<Session> session = weak.lock();
                              if (session == nullptr) return;
                              auto held = std::make_shared<absl::StatusOr<v1::OpenSessionReply>>(std::move(reply));
                              Session* const raw = session.get();
                              session->pool_.Add([raw, held] { raw->OnReopened(std::move(*held)); });
                            });
}

void Session::OnReopened(absl::StatusOr<v1::OpenSessionReply> reply) {
  absl::StatusOr<WatchedJob> job = reply.status();
  {
    MutexLock lock(&mutex_);
    if (reply.ok()) job = watched_.Apply(reply->job(), reply->revision());
  }
  if (job.ok() && job->record.state() == v1::READY) TakeJob(*job);
  MutexLock lock(&mutex_);
  reporting_ = false;
  if (reply.ok()) {
    reopen_ = false;
    session_id_ = reply->session_id();
  }
  WakeControl();
}

}  // namespace penstock
