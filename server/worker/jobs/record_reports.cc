#include "server/worker/jobs/record_reports.h"

#include <algorithm>
#include <utility>

namespace penstock::worker {

RecordReports::RecordReports(const v1::RegisterWorkerRequest& registration, CoordinatorLink* link, Executor* executor)
    : worker_(registration.id()), incarnation_(registration.incarnation()), link_(link), strand_(executor) {}

void RecordReports::Post(void (RecordReports::*step)()) {
  strand_.Post([self = shared_from_this(), step] { ((*self).*step)(); });
}

void RecordReports::Add(const std::string& job, uint64_t uid, v1::BadRecord record) {
  {
    MutexLock lock(&mutex_);
    if (waiting_.size() >= kMostWaiting) return;
    if (waiting_.size() >= kMostMessages) {
      record.clear_message();
      record.clear_offset();
    }
    waiting_.push_back({job, uid, std::move(record)});
    if (std::exchange(posted_, true)) return;
  }
  Post(&RecordReports::Report);
}

void RecordReports::Flush(Task done) {
  strand_.Post([self = shared_from_this(), done = std::move(done)]() mutable {
    self->strand_.AssertHere();
    self->flushed_ = std::move(done);
    self->next_ = 0;
    self->Report();
  });
}

void RecordReports::Stop() {
  strand_.Post([self = shared_from_this()] {
    self->strand_.AssertHere();
    self->stopped_ = true;
    self->timer_.Cancel();
    self->flushed_.reset();
  });
}

v1::ReportRecordsRequest RecordReports::NextReport() {
  v1::ReportRecordsRequest request;
  request.set_worker_id(worker_);
  request.set_incarnation(incarnation_);
  MutexLock lock(&mutex_);
  posted_ = false;
  under_way_ = std::min(waiting_.size(), kMostInReport);
  v1::JobRecords* of = nullptr;
  for (size_t i = 0; i < under_way_; ++i) {
    const Waiting& next = waiting_[i];
    if (of == nullptr || of->job_uid() != next.uid || of->job() != next.job) {
      of = request.add_jobs();
      of->set_job(next.job);
      of->set_job_uid(next.uid);
    }
    *of->add_bad() = next.record;
  }
  return request;
}

void RecordReports::Report() {
  strand_.AssertHere();
  if (stopped_ || reporting_) return;
  if (const Nanos now = strand_.clock()->Now(); now < next_) {
    timer_.Set(next_, [weak = weak_from_this()] {
      const std::shared_ptr<RecordReports> self = weak.lock();
      if (self == nullptr) return;
      self->strand_.AssertHere();
      self->Report();
    });
    return;
  }
  timer_.Cancel();
  const v1::ReportRecordsRequest request = NextReport();
  if (request.jobs().empty()) return EndFlush();
  reporting_ = true;
  next_ = strand_.clock()->Now() + kBetween;
  link_->ReportRecords(request, [self = shared_from_this()](absl::StatusOr<v1::ReportRecordsReply> reply) {
    self->strand_.Post([self, reply = std::move(reply)] {
      self->strand_.AssertHere();
      self->Reported(reply);
    });
  });
}

void RecordReports::Reported(const absl::StatusOr<v1::ReportRecordsReply>& reply) {
  reporting_ = false;
  const bool stored = reply.ok() && !reply->register_again();
  bool more = false;
  {
    MutexLock lock(&mutex_);
    if (stored) waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(under_way_));
    more = !waiting_.empty();
  }
  if (!stored) {
    next_ = strand_.clock()->Now() + kRetryAfter;
    EndFlush();
  } else if (flushed_.has_value()) {
    next_ = 0;
  }
  if (more || flushed_.has_value()) Report();
}

void RecordReports::EndFlush() {
  std::optional<Task> flushed;
  flushed.swap(flushed_);
  if (flushed.has_value()) (*std::move(flushed))();
}

}  // namespace penstock::worker
