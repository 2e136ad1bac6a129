// The coordinator's decisions, as plain state: Apply(event) -> effects. It has no clock, thread, lock, socket or file;
// each event contains the time. Not thread-safe.
//
// A change of a job, its bad records, its decisions or tickets takes effect when it is stored: Apply returns it, and
// End makes it. Views and workers change at once, and are stored afterwards.
//
// Workers prepare a job by tasks:
//   PREPARE (expand the globs, build the pipeline) -> INDEX of every shard, on all workers at once
//   -> PROBE (make the first row) -> READY
// An error of the job fails it at once. After an error of a worker, other workers try the task; if they fail too, the
// job fails with an error that names the worker. A worker's shortage of memory fails no job: workers try the task
// again. Tasks of a worker that dies go to other workers.
//
// A submission that replaces a READY job is prepared while that job continues (JobEntry::next). It replaces the job
// when it is READY. If it fails, the job continues and its status reports the failure.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_COORDINATOR_STATE_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_COORDINATOR_STATE_H_

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/coordinator/state/dataset_progress.h"
#include "server/coordinator/state/event_log.h"
#include "server/coordinator/state/events.h"
#include "server/coordinator/state/index_turns.h"
#include "server/coordinator/state/job_entry.h"
#include "server/coordinator/state/job_totals.h"
#include "server/coordinator/state/purge_desk.h"
#include "server/coordinator/state/session_table.h"
#include "server/coordinator/state/task_board.h"
#include "server/coordinator/state/ticket_desk.h"
#include "server/coordinator/state/trainer_totals.h"
#include "server/coordinator/state/worker_table.h"
#include "server/coordinator/trace/support_desk.h"
#include "server/coordinator/trace/trace_desk.h"

namespace penstock::coordinator {

// The progress of a session, for metrics.
struct TrainerProgress {
  std::string job;
  uint32_t rank = 0, world_size = 1;
  uint64_t steps_behind = 0;  // behind the first rank of its run; 0 before its first report or without other ranks
  Nanos report_age = 0;       // since its last report, or since it opened
};

class CoordinatorState {
 public:
  // Restores the state from `stored`, the facts of the store. `term` is this coordinator's term, larger than any
  // earlier one. It is the upper part of every id and revision, so that none equals an older one. Returns DataLoss if
  // the stored facts contradict each other.
  //
  // Jobs that were PREPARING are prepared again. The last views stay valid for dead_after. Until then, workers that
  // were live count as live, and a worker outside the view of a job gets no ranges of that job while a worker of the
  // view is live.
  static absl::StatusOr<CoordinatorState> Restore(const StateOptions& options, Nanos now, uint64_t term,
                                                  const v1::StoredState& stored);

  // Applies an event. It never fails as a whole: the effects of a rejected request contain an error. The caller ends
  // each change in the effects exactly once, in order.
  Effects Apply(const Event& event);
  // Returns whether the request concerns a job of a change that has not ended. The caller must not apply the request
  // before the end of that change.
  bool MustWait(const Request& request) const;
  // Ends a change. It takes effect if `stored` is OK.
  Effects End(Nanos now, Change change, const absl::Status& stored);

  // Returns the changes since the revision that the request knows, or nullopt if there are none. A revision of another
  // coordinator counts as none. A NotFound error lists the existing jobs.
  absl::StatusOr<std::optional<v1::WatchReply>> Watch(const v1::WatchRequest& request) const;
  // Returns the revision, which grows with every change that watchers receive.
  uint64_t revision() const { return revision_; }
  // Watchers whose answers may have changed since the last call.
  struct News {
    std::set<std::string> jobs;  // the watchers of these jobs, and the watchers of all jobs
    bool workers = false;        // the watchers of all jobs
  };
  News TakeNews() { return std::exchange(news_, {}); }

  // Returns whether some task or check waits for a worker to fetch it. Tasks of purges do not count.
  bool HasWaitingTasks() const;

  // Returns the job with its snapshot, or nullopt if there is no such job.
  std::optional<v1::Job> FindJob(const std::string& name) const;

  // Returns the status of all jobs and workers, with at most `most_datasets` data sets of each job.
  v1::StatusReply Status(Nanos now, size_t most_datasets = kShownDatasets) const;
  // Returns the status of one job with all of its data sets, without workers. A NotFound error lists the existing jobs.
  absl::StatusOr<v1::StatusReply> StatusOf(const std::string& job, Nanos now, const transport::Peer& caller = {}) const;
  // A NotFound error lists the existing jobs.
  absl::StatusOr<v1::ListShardsReply> ListShards(const v1::ListShardsRequest& request) const;
  absl::StatusOr<v1::QuarantineReply> GetQuarantine(const v1::QuarantineRequest& request) const;
  // Explains what limits the job, or, without a job in the request, each of up to 64 jobs that have a reader and are
  // not paused. A NotFound error lists the existing jobs. Returns FailedPrecondition if the job is not READY, is paused
  // or has no reader.
  absl::StatusOr<v1::ExplainReply> Explain(const v1::ExplainRequest& request, Nanos now,
                                           const transport::Peer& caller = {}) const;

  // Describes a job, or a worker by its id, name, address or host, with its events. A NotFound error lists the existing
  // jobs and workers, a FailedPrecondition error the ids of the workers that the name fits. Returns PermissionDenied if
  // the caller may not read the job. Leaves out the jobs that it may not read.
  absl::StatusOr<v1::DescribeReply> Describe(const v1::DescribeRequest& request, const transport::Peer& caller,
                                             Nanos now) const;

  // For metrics.
  std::vector<TrainerProgress> Trainers(Nanos now) const;  // the sessions of READY jobs
  std::vector<std::string> ReadJobs(Nanos now) const;      // jobs that Explain can explain
  const TrainerTotals& trainer_totals() const { return trainer_totals_; }
  const JobTotals& job_totals() const { return job_totals_; }

 private:
  CoordinatorState(const StateOptions& options, Nanos now, uint64_t term, bool restarted);

  // coordinator_state.cc
  Effects Dispatch(const Event& event, Consequences* out);
  // `by` is the name of the caller that caused the events, or "".
  Effects Settle(Nanos now, Effects effects, const std::string& by, Consequences* out);
  // Returns NotFound with the names of the jobs that the caller may read.
  absl::Status NoSuchJob(const std::string& name, const transport::Peer& caller) const;
  // state_status.cc
  void AddCoordinator(Nanos now, v1::StatusReply* reply) const;
  void AddStatus(const JobEntry& entry, Nanos now, size_t most_datasets, v1::StatusReply::JobStatus* status) const;
  // Returns the submission that the task belongs to. It exists, because removing a submission removes its tasks.
  const JobEntry& SubmissionOf(const v1::Task& task) const;
  JobEntry* SubmissionOf(const v1::Task& task);
  // Calls f(JobEntry*) for each job and for each submission that is to replace one.
  template <typename F>
  void ForEachSubmission(const F& f) {
    for (auto& [name, entry] : jobs_) {
      f(&entry);
      if (entry.next != nullptr) f(entry.next.get());
    }
  }
  uint64_t NextId() { return (term_ << 32) | ++ids_; }

  // state_changes.cc
  // Adds a change that names `jobs`. `ends`: it removes the job of that name, or replaces it by another.
  void BeginChange(std::vector<std::string> jobs, bool ends, Change change, Consequences* out);
  bool IsChanging(const std::string& job) const { return changing_.contains(job); }
  bool IsEnding(const std::string& job) const;
  // Returns the submission of that name and uid, or null if there is none.
  JobEntry* FindSubmission(const std::string& job, uint64_t uid);

  // state_watch.cc
  // Marks the job as changed, so that its watchers receive it.
  void TouchJob(JobEntry* entry);
  // Removes the job's revision. Call it before the entry is removed.
  void ForgetJob(const JobEntry& entry);
  // Returns the changes of the job since `base_revision`; if that is 0, since `held`.
  v1::JobUpdate WhatIsNew(const JobEntry& entry, uint64_t base_revision, const v1::HeldJob& held) const;

  // state_jobs.cc
  // Returns nullopt if a change makes the reply.
  absl::StatusOr<std::optional<v1::SubmitReply>> Submit(const v1::SubmitRequest& request, const transport::Peer& caller,
                                                        Consequences* out);
  absl::Status Cancel(const v1::CancelRequest& request, const transport::Peer& caller, Consequences* out);
  absl::Status Delete(const v1::DeleteRequest& request, const transport::Peer& caller, Consequences* out);
  // Returns FailedPrecondition, with the way out, if the job is PREPARING or READY, unless `running`.
  absl::Status CheckEnded(const JobEntry& entry, bool running) const;
  // `why` is the text of the event.
  void DeleteJob(const JobEntry& entry, const std::string& why, Consequences* out);
  void SubmitInPlaceOf(const JobEntry& there, v1::Job job, Consequences* out);
  // `why` is the error that the cancelled job has; "": an operator or its owner cancelled it.
  void CancelJob(const JobEntry& entry, const std::string& why, Consequences* out);
  void DropNext(JobEntry* entry);
  JobEntry* TakeItsPlace(JobEntry* next);  // returns the job's entry after the replacement
  void RemoveJob(const std::string& name);
  // Stops the job's tasks. The job is FAILED when that is stored.
  void FailJob(JobEntry* entry, const std::string& error, Consequences* out);
  void StoreFailure(JobEntry* entry, Consequences* out);
  // Returns the reply to a submission that exists already.
  v1::SubmitReply ReplyOfExisting(JobEntry* there, Consequences* out);
  void StopJob(JobEntry* entry, v1::JobState state, const std::string& error);
  // Returns the name of the ended job to remove for a new one, or "" if there is room. Returns ResourceExhausted if no
  // job has ended.
  absl::StatusOr<std::string> FindJobToForget() const;
  // Returns the job in its stored form, with the names of its pieces, and with `next`, the submission that replaces it.
  // `next` may be null.
  static v1::StoredJob ToStored(const JobEntry& entry, const JobEntry* next);

  // state_purge.cc. Functions with an optional answer return nullopt if a change makes the reply.
  absl::StatusOr<std::optional<PurgeAnswer>> Purge(Nanos now, const v1::PurgeRequest& request,
                                                   const transport::Peer& caller, Consequences* out);
  std::optional<PurgeAnswer> StartPurge(Nanos now, const JobEntry& entry, PurgePlan plan, Consequences* out);
  // Deletes the job if every part of its purge is done.
  std::optional<PurgeAnswer> FollowPurge(Nanos now, const JobEntry& entry, Consequences* out);
  // Returns what only this job uses.
  PurgePlan PlanPurge(const JobEntry& entry) const;
  std::vector<PurgeWorker> PurgeWorkers(Nanos now) const;
  void AddPurges(Nanos now, const WorkerEntry& worker, google::protobuf::RepeatedPtrField<v1::Task>* tasks);

  // state_preparation.cc
  void StartPreparation(JobEntry* entry, Consequences* out);
  absl::StatusOr<v1::ReportTaskReply> ReportTask(Nanos now, const v1::ReportTaskRequest& request, Consequences* out);
  void TaskFailed(JobEntry* entry, BoardTask* task, const v1::ReportTaskRequest& report, Consequences* out);
  // Sets the shortage in the job's waiting note. "" clears it.
  void SetShortage(JobEntry* entry, std::string text);
  absl::Status Prepared(JobEntry* entry, const v1::ReportTaskRequest& report, Consequences* out);
  absl::Status Indexed(JobEntry* entry, const BoardTask& task, const v1::Shard& shard, Consequences* out);
  absl::Status StartProbe(JobEntry* entry, Consequences* out);
  void BecomeReady(const JobEntry& entry, const std::string& worker, Consequences* out);
  absl::Status FillDerived(JobEntry* entry) const;
  // Returns whether the coordinator may assign the task to the worker.
  bool MayTake(const WorkerEntry& worker, const BoardTask& task) const;
  template <typename TasksReply>
  void HandOutTasks(Nanos now, const std::string& worker, TasksReply* reply);
  void CheckTasks(Nanos now, Consequences* out);

  void GiveUp(JobEntry* entry, BoardTask* task, const std::string& error, Consequences* out);

  // state_look.cc: compares a READY job's files with its snapshot.
  uint64_t LookAtFiles(JobEntry* entry, Consequences* out);  // returns the number of the check; joins a running one
  void EndLook(JobEntry* entry, const std::string& changed, const std::string& failed, Consequences* out);

  // state_views.cc
  bool CanServe(const WorkerEntry& worker, const JobEntry& entry) const;
  // Returns whether the worker's release knows all fields of the job that decide about its rows.
  bool Understands(const WorkerEntry& worker, const JobEntry& entry) const;
  void RefreshViews(Consequences* out);
  void RefreshView(JobEntry* entry, Consequences* out);
  void SetView(JobEntry* entry, plan::View next);
  std::string WhatItWaitsFor(const JobEntry& entry) const;

  // state_owners.cc: owners, pauses and idle jobs
  // Returns PermissionDenied, which names the owner, for a caller that may change only its own jobs.
  static absl::Status CheckMayChange(const JobEntry& entry, const transport::Peer& caller);
  absl::StatusOr<v1::PauseReply> Pause(const v1::PauseRequest& request, const transport::Peer& caller,
                                       Consequences* out);
  absl::StatusOr<v1::ResumeReply> Resume(const v1::ResumeRequest& request, const transport::Peer& caller,
                                         Consequences* out);
  void SetPausedBy(const JobEntry& entry, const std::string& by, Consequences* out);
  // Returns ResourceExhausted, with the numbers, if another reader would exceed the job's caps.sessions.
  absl::Status CheckSessionCap(const JobEntry& entry, const v1::OpenSessionRequest& request, Nanos now) const;
  // Notes which jobs have readers, and cancels READY jobs that had none for JobSpec.idle_expiry_seconds.
  void CancelIdleJobs(Nanos now, Consequences* out);

  // state_sessions.cc
  // Returns the time by which readers from before a coordinator restart have reported: twice the report period after
  // the start. Returns 0 for a job that is newer than the restart.
  Nanos ReadersBackBy(const v1::Job& job) const;
  // `id` is the id of the new session.
  absl::StatusOr<v1::OpenSessionReply> OpenSession(Nanos now, const v1::OpenSessionRequest& request,
                                                   const transport::Peer& caller, const std::string& id);
  absl::StatusOr<v1::ReportSessionReply> ReportSession(Nanos now, const v1::ReportSessionRequest& request,
                                                       const transport::Peer& caller, Consequences* out);
  void ApplyReport(Nanos now, const v1::ReportSessionRequest& request, SessionEntry* session, Consequences* out);
  // Returns OK for a session that is not open.
  absl::Status CloseSession(Nanos now, const v1::CloseSessionRequest& request, const transport::Peer& caller,
                            Consequences* out);
  // Returns the time until the next report of `who`, a worker or a session (beat_rhythm.h), in milliseconds, rounded
  // up.
  uint32_t NextBeatMs(Nanos now, Nanos asked, const std::string& who) const;

  // state_tickets.cc
  // Stores a new key for tickets, and deletes old ones, when that is due.
  void KeepTicketKeys(Consequences* out);
  // Ends the sessions of a name and makes its tickets void when that is stored.
  absl::Status Revoke(const v1::RevokeRequest& request, Consequences* out);
  void ApplyTicketFacts(const std::vector<v1::StoreEvent>& facts);

  // state_trace.cc
  absl::StatusOr<v1::StartTraceReply> StartTrace(Nanos now, const v1::StartTraceRequest& request,
                                                 const transport::Peer& caller, uint64_t id);
  // Returns the live workers that serve the job, and its readers. Fails as Explain does, and with FailedPrecondition if
  // no worker is live.
  absl::StatusOr<std::vector<TraceParty>> TraceParties(const std::string& job, Nanos now) const;
  // Returns the coordinator, and all workers that have not left.
  std::vector<SupportParty> SupportParties(Nanos now) const;
  // Returns the time within which every trainer has reported and received the answer. It holds for workers too, if
  // their heartbeats are as frequent.
  Nanos AllToldWithin() const;

  // state_explain.cc
  std::vector<const SessionEntry*> ReadersOf(const JobEntry& entry, Nanos now) const;  // without silent ones
  // For each of the job's sessions: the steps by which it lags behind the first rank of its run (state_metrics.cc).
  std::vector<uint64_t> StepsBehind(const JobEntry& entry, const std::vector<const SessionEntry*>& sessions) const;
  // Returns a job that is READY, is not paused and has a reader. Otherwise the error states why not. The error about a
  // job without a reader contains `so`, the consequence.
  absl::StatusOr<const JobEntry*> FindReadJob(const std::string& name, Nanos now, std::string_view so,
                                              const transport::Peer& caller) const;
  v1::Explanation ExplainJob(const JobEntry& entry, uint32_t seconds, Nanos now) const;

  // state_history.cc
  // Explains one of the jobs, in turn. Another limit that lasts is an event.
  void WatchLimits(Nanos now, Consequences* out);
  static v1::HistoryEvent ViewEvent(const JobEntry& entry, const plan::View& next);
  // Adds events for the files whose first bad records these are. Call it before the quarantine has them.
  static void AddBadFiles(const v1::StoredBadRecords& fresh, JobEntry* entry, std::vector<v1::HistoryEvent>* events);
  absl::StatusOr<const WorkerEntry*> FindWorkerCalled(const std::string& name, const transport::Peer& caller) const;
  // Adds the events of the job or worker, and those of the coordinator that concern neither. Leaves out rejections if
  // the caller may read only some jobs.
  void AddEvents(const std::string& job, const std::string& worker, const transport::Peer& caller,
                 v1::DescribeReply* reply) const;

  // state_votes.cc
  void JudgeWorker(Nanos now, const std::string& id, Consequences* out);
  // Returns whether reports may remove one more of the workers for which `concerns` is true.
  bool MayVoteOut(absl::FunctionRef<bool(const WorkerEntry&)> concerns) const;

  // state_quarantine.cc
  v1::ReportRecordsReply ReportRecords(const v1::ReportRecordsRequest& request, Consequences* out);
  // Adds the records to the quarantine when they are stored. `limited`: the job fails if they are too many.
  void AddToQuarantine(JobEntry* entry, const google::protobuf::RepeatedPtrField<v1::BadRecord>& bad, bool limited,
                       Consequences* out);
  void CountBadRecords(JobEntry* entry, const google::protobuf::RepeatedPtrField<v1::BadRecord>& reported,
                       Consequences* out);
  void QuarantineDecided(JobEntry* entry, const google::protobuf::RepeatedPtrField<v1::BadRecord>& decided,
                         Consequences* out);
  // Fails the job if its bad records exceed errors.max_bad_fraction. `example` is one of the bad records.
  void FailIfTooManyAreBad(JobEntry* entry, const v1::BadRecord& example, Consequences* out);

  // state_verdicts.cc: damaged copies of records.
  absl::StatusOr<v1::JudgeRecordsReply> JudgeRecords(Nanos now, const v1::JudgeRecordsRequest& request,
                                                     const transport::Peer& caller, Consequences* out);
  // Answers about the records that a reader asks for, after its own decisions are stored.
  v1::JudgeRecordsReply AnswerJudge(Nanos now, const v1::JudgeRecordsRequest& request, const transport::Peer& caller,
                                    Consequences* out);
  // Decides the undecided records when their decisions are stored. `by_reader`: a reader found the damage, and no
  // worker has confirmed it yet.
  void Decide(JobEntry* entry, const google::protobuf::RepeatedPtrField<v1::BadRecord>& damaged, bool by_reader,
              Consequences* out);
  void SetInquiryWorkers(Nanos now, JobEntry* entry);
  // `all` is passed to RecordInquiries::Advance. `answering` is the worker that receives this reply, or "".
  void AdvanceInquiries(Nanos now, JobEntry* entry, bool all, std::string_view answering, Consequences* out);
  void AdvanceAllInquiries(Nanos now, Consequences* out);
  // Applies the report if its task asks for checks. Returns whether it does.
  bool TakeChecks(Nanos now, const v1::ReportTaskRequest& request, Consequences* out);
  void AddChecks(const std::string& worker, google::protobuf::RepeatedPtrField<v1::Task>* tasks);

  const StateOptions options_;
  const uint64_t term_;
  const Nanos started_;
  const bool restarted_;  // an earlier coordinator used this store
  uint64_t ids_ = 0;
  uint64_t revision_;

  WorkerRegister workers_;
  TaskBoard board_;
  SessionTable sessions_;
  TraceDesk traces_;
  SupportDesk support_;
  PurgeDesk purges_;
  TicketDesk tickets_;
  bool ticket_keys_change_ = false;  // such a change has not ended
  IndexTurns turns_;
  TrainerTotals trainer_totals_;
  JobTotals job_totals_;
  EventLog history_;
  std::string explained_;  // the last job of WatchLimits
  std::map<std::string, JobEntry> jobs_;
  // Jobs of changes that have not ended. true: the change removes or replaces the job.
  std::map<std::string, bool> changing_;
  std::set<std::string> inquiring_;  // all jobs with inquiries about damaged records; some entries have none
  // Removed jobs, for watchers: (revision, name), oldest first. Bounded.
  std::deque<std::pair<uint64_t, std::string>> removed_;
  std::map<uint64_t, std::string> by_revision_;  // existing jobs
  News news_;
  bool settled_ = false;  // dead_after has passed since the start
  Nanos last_check_ = 0;
  Nanos next_idle_look_ = 0;
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_COORDINATOR_STATE_H_
