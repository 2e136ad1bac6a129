#include "tests/client/fakes/sim_session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "base/version.h"
#include "net/job_mirror.h"
#include "tests/support/job_parts.h"

namespace penstock::client {

template <typename Reply>
void SimCoordinator::Answer(Nanos timeout, Done<Reply> done, std::function<absl::StatusOr<Reply>()> make) {
  const Nanos now = scheduler_->clock()->Now();
  if (deaf_) {
    scheduler_->PostAt(now + timeout,
                       [done = std::move(done)]() mutable { std::move(done)(absl::DeadlineExceededError("deaf")); });
    return;
  }
  const Nanos delay = kMillisecond + static_cast<Nanos>(scheduler_->Draw(4 * kMillisecond));
  scheduler_->PostAt(now + delay, [this, done = std::move(done), make = std::move(make)]() mutable {
    if (away_) {
      std::move(done)(absl::UnavailableError("coordinator sim: connection refused"));
    } else {
      std::move(done)(make());
    }
  });
}

void SimCoordinator::OpenSession(const v1::OpenSessionRequest& request, Nanos timeout,
                                 Done<v1::OpenSessionReply> done) {
  Answer<v1::OpenSessionReply>(timeout, std::move(done), [this]() -> absl::StatusOr<v1::OpenSessionReply> {
    if (!refusal_.ok()) return refusal_;
    v1::OpenSessionReply reply;
    if (!wait_.empty()) {
      reply.set_wait(wait_);
      return reply;
    }
    reply.set_session_id("session-" + std::to_string(next_session_++));
    *reply.mutable_job() = Update();
    reply.set_version(std::string(Version()));
    reply.set_revision(revision_);
    ++open_sessions_;
    return reply;
  });
}

void SimCoordinator::Watch(const v1::WatchRequest& request, Nanos timeout, Done<v1::WatchReply> done) {
  if (!deaf_ && !away_ && request.known_revision() == revision_) {
    EXPECT_FALSE(watch_) << "two long polls at once";
    watch_ = std::move(done);
    watch_end_ = scheduler_->PostAt(scheduler_->clock()->Now() + request.wait_ms() * kMillisecond, [this] { News(); });
    return;
  }
  Answer<v1::WatchReply>(timeout, std::move(done), [this] {
    v1::WatchReply reply;
    reply.set_revision(revision_);
    *reply.add_jobs() = Update();
    return reply;
  });
}

void SimCoordinator::News() {
  if (!watch_) return;
  scheduler_->Cancel(watch_end_);
  Answer<v1::WatchReply>(kSecond, std::exchange(watch_, nullptr), [this] {
    v1::WatchReply reply;
    reply.set_revision(revision_);
    *reply.add_jobs() = Update();
    return reply;
  });
}

void SimCoordinator::Explain(const v1::ExplainRequest& request, Nanos timeout, Done<v1::ExplainReply> done) {
  Answer<v1::ExplainReply>(timeout, std::move(done), [this, job = request.job()] {
    v1::ExplainReply reply;
    v1::Explanation* const explanation = reply.add_jobs();
    explanation->set_job(job);
    explanation->set_limit(file_errors_.empty() ? v1::Explanation::CPU : v1::Explanation::FILES);
    explanation->add_sentences("The trainer waited.");
    for (const std::string& line : file_errors_) explanation->add_sentences(line);
    return reply;
  });
}

void SimCoordinator::ReportSession(const v1::ReportSessionRequest& request, Nanos timeout,
                                   Done<v1::ReportSessionReply> done) {
  reports_.push_back(request);
  Answer<v1::ReportSessionReply>(timeout, std::move(done), [this] {
    v1::ReportSessionReply reply;
    reply.set_unknown_session(!refusal_.ok());
    reply.set_next_report_ms(next_report_ms_);
    return reply;
  });
}

void SimCoordinator::CloseSession(const v1::CloseSessionRequest& request, Nanos timeout,
                                  Done<v1::CloseSessionReply> done) {
  Answer<v1::CloseSessionReply>(timeout, std::move(done), [this] {
    --open_sessions_;
    return v1::CloseSessionReply();
  });
}

void SimCoordinator::JudgeRecords(const v1::JudgeRecordsRequest& request, Nanos timeout,
                                  Done<v1::JudgeRecordsReply> done) {
  judge_requests_.push_back(request);
  Answer<v1::JudgeRecordsReply>(timeout, std::move(done), [this, request] {
    v1::JudgeRecordsReply reply;
    reply.set_unknown_session(!refusal_.ok());
    if (reply.unknown_session()) return reply;
    for (const v1::BadRecord& record : request.decided()) Decide(record.record());
    for (const uint64_t record : request.records()) {
      if (std::find(decided_.begin(), decided_.end(), record) != decided_.end()) {
        reply.add_bad(record);
      } else if (intact_.contains(record)) {
        reply.add_intact(record);
      }
    }
    reply.set_ask_again_ms(250);
    return reply;
  });
}

void SimCoordinator::Decide(uint64_t record) {
  if (std::find(decided_.begin(), decided_.end(), record) != decided_.end()) return;
  decided_.push_back(record);
  ++revision_;
  News();
}

v1::JobUpdate SimCoordinator::Update() const {
  v1::JobUpdate update = support::UpdateOf(job_, job_.uid());
  update.mutable_record()->set_decided_records(decided_.size());
  update.mutable_decided()->mutable_records()->Add(decided_.begin(), decided_.end());
  return update;
}

void SimCoordinator::Cancel() {
  if (!watch_) return;
  scheduler_->Cancel(watch_end_);
  std::exchange(watch_, nullptr)(absl::CancelledError("cancelled"));
}

void SimCoordinator::SetView(const std::vector<plan::ViewWorker>& workers) {
  uint64_t records = 0;
  for (const v1::Shard& shard : job_.snapshot().shards()) records += shard.records();
  *job_.mutable_view() = MakeFakeView(job_.view().number() + 1, records, workers);
  ++revision_;
  News();
}

void SimCoordinator::SetState(v1::JobState state) {
  job_.set_state(state);
  ++revision_;
  News();
}

void SimCoordinator::SetPolicy(int policy) {
  v1::View* const view = job_.mutable_view();
  view->set_policy(static_cast<v1::AssignmentPolicy>(policy));
  view->set_number(view->number() + 1);
  ++revision_;
  News();
}

SimSession::SimSession(uint64_t seed, int count, FakeJob fake)
    : job(std::move(fake)), scheduler(seed), coordinator(std::make_shared<SimCoordinator>(&scheduler, job)) {
  for (int i = 0; i < count; ++i) {
    workers.push_back(std::make_unique<FakeStreams>("w" + std::to_string(i), job));
    transport.Listen(workers.back()->id(), workers.back().get());
  }
  coordinator->SetView(Views());
}

SimSession::~SimSession() {
  session.reset();
  scheduler.DropAll();
}

std::vector<plan::ViewWorker> SimSession::Views() const {
  std::vector<plan::ViewWorker> views;
  for (const auto& worker : workers) views.push_back({worker->id(), worker->id()});
  return views;
}

ReaderOptions SimSession::options(uint64_t epochs) const {
  ReaderOptions options;
  options.job = job.name;
  options.epochs = epochs;
  return options;
}

absl::Status SimSession::Open(const ReaderOptions& options, Nanos timeout) {
  std::optional<absl::StatusOr<OpenedSession>> opened;
  SessionOpener opener(&scheduler, coordinator, options);
  opener.Open(timeout, [&](absl::StatusOr<OpenedSession> result) { opened = std::move(result); });
  if (!scheduler.RunUntil([&] { return opened.has_value(); }, now() + timeout + kSecond)) {
    return absl::InternalError("the opener did not answer");
  }
  if (!opened->ok()) return opened->status();
  OpenedSession& o = **opened;
  session = std::make_unique<Session>(std::move(o.job), o.steps, std::move(o.options), coordinator,
                                      SessionRuntime{&scheduler, &scheduler, &transport});
  session->Start(std::move(o.view), [this] { ++due; });
  return absl::OkStatus();
}

std::optional<absl::StatusOr<Batch>> SimSession::Next(Nanos within) {
  std::optional<absl::StatusOr<Batch>> next = session->TryNext();
  // Calls TryNext() again only after a notification: the notifications must suffice.
  int asked = due;
  scheduler.RunUntil(
      [&] {
        if (!next.has_value() && due != asked) {
          asked = due;
          next = session->TryNext();
        }
        return next.has_value();
      },
      now() + within);
  return next;
}

int SimSession::Read(Nanos within, int at_most) {
  int batches = 0;
  for (end = absl::OkStatus(); batches < at_most; ++batches) {
    std::optional<absl::StatusOr<Batch>> next = Next(within);
    if (!next.has_value()) end = absl::DeadlineExceededError("nothing was due");
    if (next.has_value()) end = next->status();
    if (!end.ok()) break;
    EXPECT_EQ(CheckBatch(job, **next), "") << "in batch " << batches;
  }
  return batches;
}

}  // namespace penstock::client
