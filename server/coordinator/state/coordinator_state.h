// The coordinator's decisions, as plain state: Apply(event) -> effects. It has no clock, thread,
// lock, socket or file; time comes with the events. Not thread-safe.
//
// Preparation of a job, as tasks for workers:
//   PREPARE (expand the globs, build the pipeline) -> INDEX of every shard, on all workers at once
//   -> PROBE (make the first row) -> READY
// An error of the job fails it at once. An error of a worker is tried on others, then fails the job
// and names the worker. What a worker that dies had is handed to others.
//
// What is submitted in the place of a READY job is prepared beside it (JobEntry::next) and takes its
// place when it is READY; when it fails the job goes on, and says so.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_COORDINATOR_STATE_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_COORDINATOR_STATE_H_

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/coordinator/state/events.h"
#include "server/coordinator/state/job_entry.h"
#include "server/coordinator/state/session_table.h"
#include "server/coordinator/state/task_board.h"
#include "server/coordinator/state/worker_table.h"
#include "server/coordinator/trace/trace_desk.h"

namespace penstock {

class CoordinatorState {
 public:
  // `stored`: what the store holds. `term`: of this coordinator, larger than any before; it begins
  // every id and revision, so that nothing is mistaken for something older. DataLoss when the
  // stored facts contradict themselves.
  //
  // Jobs that were PREPARING begin again. The last views stand for dead_after: until then workers
  // of the store count as live, and workers that are in no view get no ranges of a job that has
  // one.
  static absl::StatusOr<CoordinatorState> Restore(const StateOptions& options, Nanos now, uint64_t term,
                                                  const v1::StoredState& stored);

  // Never fails as a whole: a request that cannot be granted has effects with an error.
  Effects Apply(const Event& event);

  // What is newer than the request knows; nullopt when nothing is. A revision of another
  // coordinator's counts as none. NotFound lists the jobs there are.
  absl::StatusOr<std::optional<v1::WatchReply>> Watch(const v1::WatchRequest& request) const;
  // Grows with everything that a watcher could want to know.
  uint64_t revision() const { return revision_; }
  // Whom the events since the last call concern: nobody else's watch has another answer now.
  struct News {
    std::set<std::string> jobs;  // their watchers, and those of all jobs
    bool workers = false;        // those of all jobs
  };
  News TakeNews() { return std::exchange(news_, {}); }

  // Whether there is work for workers that none has fetched yet.
  bool HasWaitingTasks() const { return board_.HasWaiting(); }

  // With its snapshot; nullopt where there is none.
  std::optional<v1::Job> FindJob(const std::string& name) const;

  v1::StatusReply Status(Nanos now) const;
  // NotFound lists the jobs there are.
  absl::StatusOr<v1::ListShardsReply> ListShards(const v1::ListShardsRequest& request) const;
  absl::StatusOr<v1::QuarantineReply> GetQuarantine(const v1::QuarantineRequest& request) const;
  // What holds a job back. NotFound lists the jobs there are; FailedPrecondition: it is not READY, or nobody reads it.
  absl::StatusOr<v1::ExplainReply> Explain(const v1::ExplainRequest& request, Nanos now) const;
  // The live workers that serve a job, and its readers. The errors of Explain; FailedPrecondition: no worker is live.
  absl::StatusOr<std::vector<TraceParty>> TraceParties(const std::string& job, Nanos now) const;
  // Within this time every process has spoken and heard the answer: trainers, and workers that beat as often.
  Nanos AllToldWithin() const;

 private:
  CoordinatorState(const StateOptions& options, Nanos now, uint64_t term);

  // coordinator_state.cc
  Effects Dispatch(const Event& event, Consequences* out);
  void Settle(Nanos now, Consequences* out);
  absl::Status NoSuchJob(const std::string& name) const;
  // The submission that the task is for. There is one: its tasks go with it.
  const JobEntry& SubmissionOf(const v1::Task& task) const;
  JobEntry* SubmissionOf(const v1::Task& task);
  // Calls f(JobEntry*) for each job and what is to take its place.
  template <typename F>
  void ForEachSubmission(const F& f) {
    for (auto& [name, entry] : jobs_) {
      f(&entry);
      if (entry.next != nullptr) f(entry.next.get());
    }
  }
  uint64_t NextId() { return (term_ << 32) | ++ids_; }

  // state_watch.cc
  // Has watchers told of the job, as it is now.
  void TouchJob(JobEntry* entry);
  // Before the entry goes.
  void ForgetJob(const JobEntry& entry);
  // What one lacks of the job who has what there was at `base_revision` (0: what `held` says).
  v1::JobUpdate WhatIsNew(const JobEntry& entry, uint64_t base_revision, const v1::HeldJob& held) const;

  // state_jobs.cc
  absl::StatusOr<v1::SubmitReply> Submit(const v1::SubmitRequest& request, Consequences* out);
  absl::Status Cancel(const v1::CancelRequest& request, Consequences* out);
  absl::Status Delete(const v1::DeleteRequest& request, Consequences* out);
  v1::SubmitReply SubmitInPlaceOf(JobEntry* there, const v1::SubmitRequest& request, Consequences* out);
  void DropNext(JobEntry* entry);
  JobEntry* TakeItsPlace(JobEntry* next, Consequences* out);  // where the job is then
  void RemoveJob(const std::string& name, Consequences* out);
  void StopJob(JobEntry* entry, v1::JobState state, const std::string& error, Consequences* out);
  absl::Status MakeRoomForJob(Consequences* out);
  void StoreJob(const JobEntry& entry, Consequences* out) const;

  // state_preparation.cc
  void StartPreparation(JobEntry* entry, Consequences* out);
  v1::ReportTaskReply ReportTask(Nanos now, const v1::ReportTaskRequest& request, Consequences* out);
  void TaskFailed(JobEntry* entry, BoardTask* task, const std::string& worker, int code, const std::string& message,
                  bool worker_at_fault, Consequences* out);
  absl::Status Prepared(JobEntry* entry, const v1::ReportTaskRequest& report, Consequences* out);
  absl::Status Indexed(JobEntry* entry, const BoardTask& task, const v1::Shard& shard, Consequences* out);
  absl::Status StartProbe(JobEntry* entry, Consequences* out);
  void BecomeReady(JobEntry* entry, Consequences* out);
  absl::Status FillDerived(JobEntry* entry) const;
  // Whether the worker may do this task at all.
  bool MayTake(const WorkerEntry& worker, const BoardTask& task) const;
  template <typename TasksReply>
  void HandOutTasks(Nanos now, const std::string& worker, TasksReply* reply);
  void CheckTasks(Nanos now, Consequences* out);

  void GiveUp(JobEntry* entry, BoardTask* task, const std::string& error, Consequences* out);

  // state_look.cc: a READY job's files against its snapshot.
  uint64_t LookAtFiles(JobEntry* entry, Consequences* out);  // the look's number; joins one that is under way
  void EndLook(JobEntry* entry, const std::string& changed, const std::string& failed);

  // state_views.cc
  bool CanServe(const WorkerEntry& worker, const JobEntry& entry) const;
  void RefreshViews(Consequences* out);
  void RefreshView(JobEntry* entry, Consequences* out);
  void SetView(JobEntry* entry, View next);
  std::string WhatItWaitsFor(const JobEntry& entry) const;

  // state_sessions.cc
  absl::StatusOr<v1::OpenSessionReply> OpenSession(Nanos now, const v1::OpenSessionRequest& request);
  v1::ReportSessionReply ReportSession(Nanos now, const v1::ReportSessionRequest& request, Consequences* out);
  void JudgeWorker(Nanos now, const std::string& worker, Consequences* out);
  // When `who`, a worker or a session, is to speak again (beat_rhythm.h), in milliseconds, rounded up.
  uint32_t NextBeatMs(Nanos now, Nanos asked, const std::string& who) const;

  // state_explain.cc
  std::vector<const SessionEntry*> ReadersOf(const JobEntry& entry, Nanos now) const;  // that are not silent
  // A job that is READY and read now; else why not, `so` being what follows from nobody's reading it.
  absl::StatusOr<const JobEntry*> FindReadJob(const std::string& name, Nanos now, std::string_view so) const;
  v1::Explanation ExplainJob(const JobEntry& entry, uint32_t seconds, Nanos now) const;

  // state_quarantine.cc
  void CountBadRecords(JobEntry* entry, const v1::ReportSessionRequest& request, Consequences* out);

  const StateOptions options_;
  const uint64_t term_;
  const Nanos started_;
  uint64_t ids_ = 0;
  uint64_t revision_;

  WorkerRegister workers_;
  TaskBoard board_;
  SessionTable sessions_;
  std::map<std::string, JobEntry> jobs_;
  // Jobs that are gone, for watchers: (revision, name), the oldest first; a bounded number.
  std::deque<std::pair<uint64_t, std::string>> removed_;
  std::map<uint64_t, std::string> by_revision_;  // the jobs that are there
  News news_;
  bool settled_ = false;  // dead_after has passed since the start
  Nanos last_check_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_COORDINATOR_STATE_H_
