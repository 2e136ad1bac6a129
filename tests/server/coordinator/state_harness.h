// A coordinator's state with simulated time, and workers that do their tasks at once.
#ifndef PENSTOCK_TESTS_SERVER_COORDINATOR_STATE_HARNESS_H_
#define PENSTOCK_TESTS_SERVER_COORDINATOR_STATE_HARNESS_H_

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/coordinator/state/coordinator_state.h"
#include "tests/server/coordinator/apply_and_store.h"
#include "tests/server/coordinator/job_specs.h"
#include "tests/support/commit_facts.h"
#include "tests/support/fake_store.h"
#include "transport/peer.h"

namespace penstock::coordinator {

class StateHarness {
 public:
  static constexpr int kShards = 8;
  static constexpr uint64_t kRecords = 25;  // per shard

  explicit StateHarness(StateOptions options = {}) : options_(options) { Restart(); }

  // Starts a new coordinator on the stored state.
  void Restart() {
    auto stored = store.Load();
    EXPECT_TRUE(stored.ok());
    std::vector<v1::StoreEvent> begin(1);
    begin[0].set_begin_term(stored->term() + 1);
    EXPECT_EQ(support::CommitFacts(&store, begin, stored->revision()).kind, CommitOutcome::kStored);
    revision_ = stored->revision() + 1;
    auto restored = CoordinatorState::Restore(options_, now, stored->term() + 1, *stored);
    ASSERT_TRUE(restored.ok()) << restored.status();
    state.emplace(*std::move(restored));
  }

  Effects Apply(Request request) {
    Event event{now, std::move(request)};
    if (NeedsNewId(event.request)) event.new_id = {++new_ids_ << 32, 0};
    event.caller = caller;
    last_facts.clear();
    Effects effects = ApplyAndStore(&*state, event, &last_facts);
    if (!last_facts.empty()) {
      EXPECT_EQ(support::CommitFacts(&store, last_facts, revision_).kind, CommitOutcome::kStored);
      ++revision_;
    }
    return effects;
  }

  template <typename Rep, typename Req>
  Rep Do(const Req& request) {
    Effects effects = Apply(request);
    EXPECT_TRUE(effects.status.ok()) << effects.status;
    return effects.status.ok() ? std::get<Rep>(effects.reply) : Rep();
  }

  template <typename Req>
  absl::Status StatusOf(const Req& request) {
    return Apply(request).status;
  }

  void Register(const std::string& id) { Do<v1::RegisterWorkerReply>(WorkerCalled(id)); }
  v1::HeartbeatReply Beat(const std::string& id) { return Do<v1::HeartbeatReply>(BeatOf(id)); }
  v1::ReportTaskReply Report(const v1::ReportTaskRequest& report) { return Do<v1::ReportTaskReply>(report); }
  v1::ReportTaskReply Finish(const std::string& worker, const v1::Task& task) {
    return Report(DoneBy(worker, task, kShards, kRecords));
  }
  v1::ReportTaskRequest Failure(const std::string& worker, const v1::Task& task, const std::string& message,
                                bool worker_at_fault) {
    v1::ReportTaskRequest report;
    report.set_worker_id(worker);
    report.set_task_id(task.id());
    report.set_code(static_cast<int>(absl::StatusCode::kNotFound));
    report.set_message(message);
    report.set_worker_at_fault(worker_at_fault);
    return report;
  }

  // The worker, which must be registered, reports bad records of the job's current submission.
  v1::ReportRecordsReply ReportBad(const std::string& worker, const std::string& job,
                                   const std::vector<v1::BadRecord>& bad) {
    v1::ReportRecordsRequest request;
    request.set_worker_id(worker);
    request.set_incarnation(1);
    v1::JobRecords* const of = request.add_jobs();
    of->set_job(job);
    of->set_job_uid(Job(job).uid());
    for (const v1::BadRecord& record : bad) *of->add_bad() = record;
    return Do<v1::ReportRecordsReply>(request);
  }

  // Advances the time. The workers `beating` send four heartbeats a second.
  void Pass(Nanos duration, const std::vector<std::string>& beating) {
    const Nanos until = now + duration;
    while (now < until) {
      now += kSecond / 4;
      for (const std::string& id : beating) Beat(id);
      Apply(Tick());
    }
  }

  // These workers do tasks until none is left.
  void Work(const std::vector<std::string>& workers) {
    for (bool any = true; any;) {
      any = false;
      for (const std::string& id : workers) {
        for (const v1::Task& task : TasksIn(Beat(id))) {
          Finish(id, task);
          any = true;
        }
      }
    }
  }

  // Submits a job. These workers, which must be registered, prepare it.
  v1::Job Prepare(const std::string& name, const std::vector<std::string>& workers) {
    Do<v1::SubmitReply>(SubmitOf(SimpleSpec(name)));
    Work(workers);
    return Job(name);
  }

  v1::Job Job(const std::string& name) {
    const std::optional<v1::Job> job = state->FindJob(name);
    EXPECT_TRUE(job.has_value()) << name;
    return job.value_or(v1::Job());
  }

  std::set<std::string> OwnersOf(const std::string& name) {
    const v1::View view = Job(name).view();
    std::set<std::string> owners;
    for (const v1::View::Range& range : view.ranges()) owners.insert(view.workers(range.owner()).id());
    return owners;
  }

  v1::WorkerStatus Worker(const std::string& id) {
    const v1::StatusReply status = state->Status(now);
    for (const v1::WorkerStatus& worker : status.workers()) {
      if (worker.id() == id) return worker;
    }
    return v1::WorkerStatus();
  }

  v1::StatusReply::JobStatus JobStatus(const std::string& name) {
    const v1::StatusReply status = state->Status(now);
    for (const v1::StatusReply::JobStatus& job : status.jobs()) {
      if (job.name() == name) return job;
    }
    return v1::StatusReply::JobStatus();
  }

  Nanos now = kSecond;
  transport::Peer caller;  // sender of the next requests
  support::FakeStore store;
  std::vector<v1::StoreEvent> last_facts;  // facts of the last event
  std::optional<CoordinatorState> state;

 private:
  const StateOptions options_;
  uint64_t revision_ = 0;
  uint64_t new_ids_ = 0;
};

// The session reports that it cannot use `worker`.
inline void Complain(StateHarness* h, const std::string& session, const std::string& worker) {
  v1::ReportSessionRequest report;
  report.set_session_id(session);
  report.add_failed_workers(worker);
  h->Do<v1::ReportSessionReply>(report);
}

inline std::string Text(const absl::Status& status) { return std::string(status.message()); }

}  // namespace penstock::coordinator

#endif  // PENSTOCK_TESTS_SERVER_COORDINATOR_STATE_HARNESS_H_
