#include "client/session/session.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr Nanos kStreamsGoneWithin = 400 * kMillisecond;
constexpr absl::Duration kCloseSession = absl::Milliseconds(300);

TrackerOptions TrackerOptionsOf(const JobInfo& job, const SessionOptions& options) {
  TrackerOptions tracker;
  tracker.rank = options.rank;
  tracker.start = options.start;
  tracker.epochs = options.epochs;
  tracker.window_steps = options.window_steps;
  tracker.offsets = job.offsets;
  tracker.plan = job.plan;
  return tracker;
}

}  // namespace

Session::Session(JobInfo job, const Steps& steps, SessionOptions options,
                 std::shared_ptr<CoordinatorClient> coordinator, std::unique_ptr<Transport> transport, Clock* clock)
    : job_(std::move(job)),
      steps_(steps),
      options_(std::move(options)),
      coordinator_(std::move(coordinator)),
      transport_(std::move(transport)),
      clock_(clock),
      memory_(std::make_shared<BatchMemory>(options_.allocator, options_.max_free_bytes)),
      pool_(std::max(1, options_.copy_threads)),
      tracker_(steps_, TrackerOptionsOf(job_, options_)),
      session_id_(options_.session_id),
      watched_(std::move(options_.watched)) {}

Session::~Session() { Stop(); }

void Session::Start(std::shared_ptr<const View> view) {
  {
    MutexLock lock(&mutex_);
    last_report_ = clock_->Now();
    next_report_ = last_report_ + kSecond;
    tracker_.ViewChanged(std::move(view), last_report_);
  }
  control_ = std::thread([this] { Control(); });
}

void Session::Stop() {
  std::vector<std::shared_ptr<WorkerStream>> streams;
  std::string session;
  {
    MutexLock lock(&mutex_);
    if (stopping_) return;
    stopping_ = cancelled_ = true;
    session = session_id_;
    ready_.NotifyAll();
    control_wake_.NotifyAll();
  }
  coordinator_->Cancel();
  if (control_.joinable()) control_.join();
  pool_.Stop();
  {
    MutexLock lock(&mutex_);
    for (const auto& [number, stream] : streams_) streams.push_back(stream);
  }
  for (const auto& stream : streams) stream->Cancel();
  // Courtesy: the coordinator forgets sessions that say nothing, too.
  if (!session.empty()) {
    v1::CloseSessionRequest close;
    close.set_session_id(session);
    *close.mutable_last() = MakeReport(clock_->Now());
    coordinator_->CloseSession(close, kCloseSession).IgnoreError();
  }
  std::map<uint64_t, std::shared_ptr<Booked>> booked;  // their memory goes outside the lock
  {
    MutexLock lock(&mutex_);
    const Nanos deadline = clock_->Now() + kStreamsGoneWithin;
    for (Nanos now = clock_->Now(); open_streams_ > 0 && now < deadline; now = clock_->Now()) {
      streams_gone_.WaitFor(&mutex_, std::chrono::nanoseconds(deadline - now));
    }
    streams_.clear();
    booked.swap(booked_);
  }
  booked.clear();
  // A callback of gRPC's may hold the session a moment longer than its reader, and must not hold the trainer's memory.
  memory_->Close();
}

bool Session::Due(std::shared_ptr<Booked>* step, absl::Status* status) const {
  if (cancelled_) {
    *status = absl::CancelledError(absl::StrCat("reading job ", job_.name, " was cancelled"));
    return true;
  }
  if (tracker_.finished()) {
    *status = absl::OutOfRangeError(absl::StrCat("the epochs asked for of job ", job_.name, " are over"));
    return true;
  }
  if (!job_gone_.ok()) {
    *status = job_gone_;
    return true;
  }
  if (tracker_.head_complete()) {
    *status = tracker_.head_failure();
    if (!status->ok()) return true;
    const std::shared_ptr<Booked>& head = booked_.at(tracker_.head_ordinal());
    if (!head->sealed) return false;
    *status = head->status;
    if (status->ok()) *step = head;
    return true;
  }
  *status = fatal_;
  if (status->ok()) *status = tracker_.Refusal();
  return !status->ok();
}

absl::StatusOr<Batch> Session::Next(absl::Duration timeout) {
  const Nanos begin = clock_->Now();
  const Nanos deadline =
      begin + absl::ToInt64Nanoseconds(std::clamp(timeout, absl::ZeroDuration(), absl::Hours(87600)));
  std::shared_ptr<Booked> step;
  {
    MutexLock lock(&mutex_);
    absl::Status status;
    Nanos now = begin;
    while (!Due(&step, &status)) {
      if (now >= deadline) {
        waited_ += now - begin;
        return absl::DeadlineExceededError(absl::StrCat(
            "job ", job_.name, ": no batch within ", absl::FormatDuration(timeout), ": ", tracker_.DescribeMissing()));
      }
      tracker_.TrainerWaits(now);
      WakeControl();
      ready_.WaitFor(&mutex_, std::chrono::nanoseconds(deadline - now));
      now = clock_->Now();
    }
    const Nanos waited = now - begin;
    waited_ += waited;
    if (!status.ok()) return status;

    if (stats_.batches == 0) {
      stats_.first_batch_wait = absl::Nanoseconds(waited_);
    } else {
      stats_.longest_wait = std::max(stats_.longest_wait, absl::Nanoseconds(waited));
    }
    ++stats_.batches;
    stats_.rows += step->slice.size();
    booked_.erase(tracker_.head_ordinal());
    tracker_.StepTaken(now);
    WakeControl();
  }
  const Cursor start = steps_.Normalized(options_.start);
  const uint64_t from = step->span.epoch == start.epoch ? start.position : 0;
  return step->builder->Finish(step->span.epoch, (step->span.begin - from) / steps_.step_size(), step->span.begin);
}

void Session::Cancel() {
  MutexLock lock(&mutex_);
  cancelled_ = true;
  ready_.NotifyAll();
}

Cursor Session::cursor() const {
  MutexLock lock(&mutex_);
  return tracker_.cursor();
}

ReaderStats Session::Stats() const {
  MutexLock lock(&mutex_);
  ReaderStats stats = stats_;
  stats.waited = absl::Nanoseconds(waited_);
  stats.duplicate_rows = tracker_.stats().duplicate_rows;
  stats.fetched_rows = tracker_.stats().fetched_rows;
  stats.broken_streams = tracker_.stats().broken_streams;
  stats.view_changes = tracker_.stats().view_changes;
  stats.prefetched_steps = tracker_.complete_steps();
  return stats;
}

void Session::WakeControl() {
  if (wake_) return;
  wake_ = true;
  control_wake_.NotifyOne();
}

}  // namespace penstock
