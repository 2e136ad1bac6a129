// The delivery core: which rows are booked, which worker owes them, and which other worker to ask. Pure state: the
// caller reports events with their time, and the core returns commands. It has no thread, lock, clock or socket. Tests
// and simulations run this code.
//
// A window of steps is booked ahead of the trainer. Steps are granted in runs, under the view that is current at the
// time, to every worker that owns part of them. Each row has one slot and is filled once, whichever worker delivers it:
//
//   owner's stream breaks, or cannot be opened  -> its missing rows are fetched from the backup at once; if that fails,
//                                                  from each live worker of the view in turn
//   row of the head step late, owner silent     -> the same for the steps next to the trainer, until the owner sends
//   owner sends, but far slower than others     -> the core fetches its missing rows near the trainer from all workers
//                                                  that keep up. If a new view cuts the owner's share, the core
//                                                  reassigns the rows of earlier grants.
//   row of the head step lost                   -> fetched from another worker, although the owner sends later ones
//   worker cannot make a row (I/O)              -> the core asks the next worker
//   worker has other data than the snapshot     -> the core asks every other worker; if none can provide the row, it
//                                                  fails
//   worker's copy of a record is damaged        -> the core asks every other worker; if all copies are damaged, the
//                                                  row waits for the coordinator's decision, or for the tracker's own
//                                                  while the coordinator is away (damaged_rows.cc)
//   row failed for good                         -> the failure is the row's outcome, due with its step
//
// The core waits for rows that are slow on all workers. The arrival rate of a worker's rows determines when its rows
// are late, and the core asks other workers only if they are faster. If all workers are silent, it asks any worker that
// answers, after 4 times the usual patience. It requests at most kMaxFetches rows from one worker at a time.
//
// A broken worker is retried with capped backoff. The coordinator takes part only in the decision that a record is bad,
// which the tracker makes itself while the coordinator is away.
#ifndef PENSTOCK_CLIENT_DELIVERY_DELIVERY_TRACKER_H_
#define PENSTOCK_CLIENT_DELIVERY_DELIVERY_TRACKER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/delivery/booked_step.h"
#include "client/delivery/commands.h"
#include "client/delivery/lateness.h"
#include "client/delivery/record_copies.h"
#include "client/delivery/worker_table.h"
#include "pipeline/plan/data_order.h"

namespace penstock::client {

struct TrackerOptions {
  uint64_t rank = 0;
  plan::Cursor start;
  uint64_t epochs = 1;         // includes the first, partial one; 0: unlimited
  uint64_t window_steps = 16;  // at least 2
  // Steps of one grant. 0: half the window, or one step if the window has fewer than 4, because it would run empty
  // otherwise.
  uint64_t grant_steps = 0;
  std::shared_ptr<const plan::DataOrder> order;
};

struct DeliveryStats {
  uint64_t duplicate_rows = 0;
  uint64_t fetched_rows = 0;       // requested again
  uint64_t fetched_elsewhere = 0;  // fetched from another worker than the granted one
  uint64_t broken_streams = 0;
  uint64_t view_changes = 0;
};

// Returns `text` up to its first "; ": an error without the attempted remedies and the advice.
std::string FirstClause(const std::string& text);

// Not thread-safe.
class DeliveryTracker {
 public:
  // A slot that RowArrived assigned to the caller. The caller must fill it and end with Filled, Failed or Released. If
  // Accepts returns false, the claim is over: the caller must call none of the three.
  struct Slot {
    uint64_t ordinal = 0;  // step
    uint64_t row = 0;      // in the slice
  };
  enum class Claim {
    kYours,
    kDuplicate,  // the row is filled, failed or being filled, or its step is over: drop it
    kUnwanted,   // the row was never requested: a protocol error of the sender
  };

  // Maximum number of unanswered rows of fetches for one worker: a worker keeps requested rows in memory.
  static constexpr uint64_t kMaxFetches = 16384;

  DeliveryTracker(const plan::Steps& steps, TrackerOptions options);

  // ---- Events. TakeCommands returns the resulting commands.
  // Installs a view. The caller must validate an untrusted view first. The view's key space must be that of the job.
  // Ignores a view that is older than the latest, or equally old.
  void ViewChanged(std::shared_ptr<const plan::View> view, Nanos now);
  void Heard(uint64_t stream, Nanos now);
  void WorkerDrains(uint64_t stream, Nanos now);
  // `error` is the cause, or OK if the worker closed the stream in order.
  void StreamBroken(uint64_t stream, absl::Status error, Nanos now);
  // Claims the slot of a row that arrived on a stream, which may have closed meanwhile. Sets `slot` for kYours.
  Claim RowArrived(uint64_t stream, uint64_t epoch, uint64_t row_number, Nanos now, Slot* slot);
  void Filled(const Slot& slot, uint64_t stream);
  // Records that the worker could not make the row.
  //   Unavailable, Aborted, Cancelled, DeadlineExceeded   the core asks other workers, repeatedly
  //   FailedPrecondition, ResourceExhausted               the core asks every other worker once. If every worker has
  //                                                       refused, the row fails with the first refusal's error.
  //                                                       The row also fails 5 s after the first refusal if the
  //                                                       core cannot ask the other workers.
  //   other codes                                         this is the row's outcome
  // With `damaged_record` the worker's copy of that record is damaged, whatever the code.
  void Failed(const Slot& slot, uint64_t stream, absl::Status error, Nanos now,
              std::optional<uint64_t> damaged_record = std::nullopt);
  // Returns true if a claimed row with content may be filled. `source` is the record of the content; nullopt: the row's
  // own record. Returns false if that record is decided to be bad, and the worker does not know the decision yet or
  // does not follow it. The row is then missing again.
  bool Accepts(const Slot& slot, uint64_t stream, std::optional<uint64_t> source, Nanos now);
  // Records that the row could not be filled, because its bytes are invalid. It is missing again.
  void Released(const Slot& slot, Nanos now);
  // Marks records as bad for every row that arrives from now on. May be repeated.
  void Decided(const std::vector<uint64_t>& records, Nanos now);
  // Records that some worker has an intact copy of these records. The core asks the workers again after a pause.
  void Intact(const std::vector<uint64_t>& records, Nanos now);
  // Records that the coordinator has not answered since `since`, or since the time of an earlier call. After
  // RecordCopies::kWaitForCoordinator, Tick decides by the workers of the view.
  void CoordinatorAway(Nanos since);
  void CoordinatorBack();
  // Records that the trainer waits for the head step. No effect if it waits already.
  void TrainerWaits(Nanos now);
  // Records that the trainer took the head step. The step must be complete and without a failure.
  void StepTaken(Nanos now);
  // Sets the number of steps to book ahead, at least 2. Booked steps stay.
  void SetWindow(uint64_t steps);
  // Records that the process was stopped until `now` and received no messages meanwhile. Waits start again at `now`,
  // except the 5 s of refusals (see Failed) and RecordCopies::kWaitForWorker.
  void Stopped(Nanos now);
  // Advances time. Must be called by NextTick() at the latest.
  void Tick(Nanos now);

  // Returns the commands in the order in which they must be carried out.
  std::vector<Command> TakeCommands();
  bool has_commands() const { return !commands_.empty(); }

  // ---- State.
  // Returns true if the trainer has taken all requested steps.
  bool finished() const { return head_ordinal_ == total_steps_; }
  // Returns the cursor after the taken steps.
  plan::Cursor cursor() const { return head_; }
  // Returns the ordinal of the step that the trainer takes next.
  uint64_t head_ordinal() const { return head_ordinal_; }
  bool head_complete() const { return !booked_.empty() && booked_.front().complete(); }
  // Returns the failure of the failed row with the lowest number in the head step, or OK. Requires head_complete().
  const absl::Status& head_failure() const { return booked_.front().failure; }
  const plan::StepSpan& head_span() const { return booked_.front().span; }
  bool IsComplete(uint64_t ordinal) const;
  uint64_t complete_steps() const;
  // Returns an error if every worker of the view refuses this session (memory, another job), so that no row can arrive.
  absl::Status Refusal() const;
  // Returns true if any record is decided to be bad. Without decisions Accepts returns true for every row.
  bool any_decided() const { return copies_.any_decided(); }
  // Increases whenever Refusal() changes. A caller that waits for the head step must then check it, even if no row
  // arrived.
  uint64_t refusal_changes() const { return refusal_changes_; }
  // Describes the missing rows of the head step, the workers that owe them, and the errors of workers. Visits each row
  // of the step: call it at most once a second.
  std::string DescribeMissing() const;
  // Returns an error that a worker reported since the last StepTaken, for a row that the core requests again:
  // "worker w1: /data/x: ...". Returns "" if there is none.
  std::string RowError() const;
  // The main cause of the missing rows of the head step, in about 100 bytes: a worker's state, or a damaged record.
  struct Cause {
    std::string text;
    // true: no other cause is possible. false: an unreadable file of a worker may be the real cause.
    bool is_certain = false;
  };
  Cause MissingCause() const;
  // Returns the time at which Tick must be called at the latest.
  Nanos NextTick(Nanos now) const;
  // Returns the ids of the view's workers that cannot be reached, or that owe rows and are silent while others send. A
  // worker that drains or refuses the session counts only if it is silent.
  std::vector<std::string> FailedWorkers() const;
  // Returns the id of the stream's worker, or "" if the stream is closed.
  std::string WorkerOf(uint64_t stream) const {
    const uint32_t worker = workers_.OfStream(stream);
    return worker == kNoWorker ? "" : workers_[worker].id;
  }
  // Returns the number of steps to book ahead, as of the last SetWindow.
  uint64_t window_steps() const { return window_steps_; }
  const DeliveryStats& stats() const { return stats_; }

 private:
  // The window (delivery_tracker.cc).
  void Advance(Nanos now);
  void GrantRun(uint64_t run, Nanos now);
  // Returns the workers that may own rows of this rank in the step. `view` must be the latest.
  std::vector<uint32_t> Owners(const plan::View& view, const plan::StepSpan& step) const;
  void CloseIdleStreams();
  // Returns true if the worker receives grants for its rows.
  bool TakesGrants(const TrackedWorker& worker) const;
  void SayWaiting();
  BookedStep* Find(uint64_t epoch, uint64_t row_number);
  BookedStep& At(uint64_t ordinal) { return booked_[ordinal - head_ordinal_]; }
  const plan::EpochOrder& Plan(uint64_t epoch);
  uint64_t EnsureStream(uint32_t worker);

  // Requests for missing rows (recovery.cc).
  struct FetchKey {
    uint32_t worker;
    uint64_t epoch;
    bool operator<(const FetchKey& o) const { return worker != o.worker ? worker < o.worker : epoch < o.epoch; }
  };
  struct FetchedRows {
    std::vector<uint64_t> rows;
    std::vector<uint64_t> decided;
  };
  using Fetches = std::map<FetchKey, FetchedRows>;
  // Creates the step's asks from the owners in the grant's view. No effect if they exist.
  void EnsureAsks(BookedStep* step);
  // Makes the rows that the worker owes unassigned, after its stream has closed.
  void Disown(uint32_t worker);
  // Returns a worker other than `current` to ask for the row: one with room, the next in the row's order of workers.
  // Returns kNoWorker if there is none. strict: only a usable worker, instead of any that answers.
  uint32_t Choose(const BookedStep& step, uint64_t row, uint32_t current, bool strict);
  void Ask(BookedStep* step, uint64_t row, uint32_t worker, Nanos now, Fetches* fetches);
  void Send(Fetches fetches);
  // Asks workers for the missing rows that no worker owes.
  void Reassign(Nanos now);
  // Ends the row's fetch: a worker answered it, or another worker gets the request.
  void EndFetch(RowAsk* ask);
  bool HasRoom(uint32_t worker) const { return workers_[worker].fetches < kMaxFetches; }
  void GiveUp(BookedStep* step, uint64_t row, absl::Status error);
  // Handles a sender's report that it cannot provide the row's content.
  void Refused(BookedStep* step, uint64_t row, uint32_t sender, absl::Status error, Nanos now, Fetches* fetches);
  // Asks a worker that has not refused the row. Fails the row if there is no worker to wait for.
  void AskOthers(BookedStep* step, uint64_t row, Nanos now, Fetches* fetches);
  // Handles a transient failure: asks each worker in turn, and again after a pause.
  void TryOthers(BookedStep* step, uint64_t row, uint32_t sender, Nanos now, Fetches* fetches);
  void ChaseLateRows(Nanos now);
  void ChaseSuspects(Nanos now);
  void UpdateRefusal();
  // Returns the pause between two scans of the head step's rows. It grows with the number of rows.
  Nanos LookPause() const;

  // Rows of records whose copies are damaged (damaged_rows.cc).
  uint64_t RecordOf(const BookedStep& step, uint64_t row);
  // Returns true if another worker than the sender has a pending request for the row.
  bool AwaitsOther(const RowAsk& ask, uint32_t sender) const;
  // Returns true if the worker cannot provide one of the damaged records that the row needs.
  bool Refuses(const BookedStep& step, uint64_t row, uint32_t worker) const;
  // Returns true if the row waits for an undecided record.
  bool NeedsDamaged(const BookedStep& step, uint64_t row) const;
  // Handles a sender's damaged copy of the record.
  void CopyDamaged(BookedStep* step, uint64_t row, uint32_t sender, uint64_t record, const absl::Status& error,
                   Nanos now, Fetches* fetches);
  // Handles a sender that has no copy of the undecided records that the row needs, or cannot read it now.
  void CopyUnavailable(BookedStep* step, uint64_t row, uint32_t sender, absl::StatusCode code, Nanos now,
                       Fetches* fetches);
  // Handles a row from a sender that does not know, or does not follow, the decision that a record is bad.
  void FollowDecision(BookedStep* step, uint64_t row, uint32_t sender, uint64_t record, Nanos now, Fetches* fetches);
  // Asks a worker whose copies of the row's records may be intact. Requests a decision if there is none.
  void AskForDamaged(BookedStep* step, uint64_t row, Nanos now, Fetches* fetches);
  void AskForDecisions(const BookedStep& step, uint64_t row);
  // Clears the state of a row that is filled or has failed.
  void EndDamaged(BookedStep* step, uint64_t row);
  // Requests the rows that wait for one of these records again, not before `hold_until`.
  void Resume(std::vector<uint64_t> records, Nanos hold_until, Nanos now);
  void DecideAlone(Nanos now);
  // Adds the decided records that the row needs to its fetch.
  void AddDecided(BookedStep* step, uint64_t row, std::vector<uint64_t>* decided);
  // Returns the records of the head step that need a decision.
  std::vector<uint64_t> UndecidedOfHead() const;
  // Describes what decides whether the record is bad, and what delays the decision.
  std::string DecisionWait(uint64_t record) const;
  std::string DescribeDamaged() const;

  // Workers that delay the trainer (slow_workers.cc).
  struct Owed {
    uint64_t rows = 0;
    Nanos since = INT64_MAX;  // time of the first request for any of them
  };
  // Returns what each worker owes of the head step. The step's asks must exist.
  std::vector<Owed> OwedOfHead() const;
  // Returns each worker's share of this rank's rows under the view.
  std::vector<double> SharesUnder(const plan::View& view) const;
  // Each usable worker except `except` needs the time share / best rate for its share of a row. Returns the median of
  // these times, in seconds. Returns 0 if no such rate is known.
  double UsualTime(const std::vector<double>& shares, uint32_t except, Nanos now) const;
  bool AnySlow() const;
  std::vector<uint32_t> WellWithRoom() const;
  void FindSlow(Nanos now);
  void ChaseSlow(Nanos now);
  // Closes the stream of a slow worker, which then drops its pending rows. The worker serves later grants only.
  void Restart(uint32_t worker, Nanos now);
  void FreeSlow(Nanos now);
  void DropOldGrants(Nanos now);

  const plan::Steps steps_;
  const TrackerOptions options_;
  uint64_t total_steps_;
  uint64_t window_steps_;
  uint64_t grant_steps_;

  WorkerTable workers_;
  std::shared_ptr<const plan::View> view_;          // the latest; null before the first
  std::shared_ptr<const plan::View> granted_view_;  // view of the last grant

  std::deque<BookedStep> booked_;  // [0] is the head
  uint64_t head_ordinal_ = 0;
  plan::Cursor head_;     // position of the head step
  plan::Cursor next_;     // position of the next step to grant
  bool orphans_ = false;  // true if a missing row may have no worker that owes it

  Lateness lateness_;
  RecentWaits recent_waits_;
  Nanos find_slow_at_ = 0;  // earliest time of the next FindSlow
  std::optional<Nanos> waiting_since_;
  Nanos resumed_at_ = 0;  // end of the last stop of this process
  bool said_waiting_ = false;
  // The last error of each worker for rows that are requested again, since the last StepTaken.
  std::map<uint32_t, absl::Status> row_errors_;
  RecordCopies copies_;
  std::optional<Nanos> coordinator_away_;  // start of the coordinator's absence
  Nanos ticked_at_ = 0;
  absl::Status refusal_;  // as of the last change
  uint64_t refusal_changes_ = 0;
  std::map<uint64_t, plan::EpochOrder> plans_;  // plans of the epochs in the window

  std::vector<Command> commands_;
  DeliveryStats stats_;
};

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_DELIVERY_DELIVERY_TRACKER_H_
