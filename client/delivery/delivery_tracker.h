// The delivery core: which rows are booked, who owes them, whom to ask instead. Pure state: it is told what happens and
// when, and answers with commands. No thread, lock, clock or socket of its own; tests and simulations drive this code.
//
// A window of steps is booked ahead of the trainer. Steps are granted in runs, under the view that is the latest then,
// to every worker that owns part of them. Each row has one slot and is filled once, whoever delivers it:
//
//   owner's stream breaks, or cannot be opened  -> its missing rows are fetched from the backup at once, and from any
//                                                  live worker of the view in turn when that fails too
//   row of the head step late, owner silent     -> the same for the steps next to the trainer, until the owner speaks
//   owner sends, but far slower than others     -> the same, until it keeps up; what it was granted before its share
//                                                  was cut is taken from it when the new view is there
//   row of the head step lost                   -> fetched from another, though the owner sends later ones
//   worker cannot make a row (I/O)              -> the next worker is asked
//   worker's copy of the data is a wrong one    -> every other worker is asked; when all say so it is the row's outcome
//   row failed for good                         -> the failure is the row's outcome, due with its step
//
// Rows that are merely many, or slow everywhere, are waited for: what is late follows from how fast rows came from that
// worker, and it is asked of others only when these do better. At most kMaxFetches rows are asked of one worker at
// once.
//
// A broken worker is tried again with capped backoff. The coordinator has no part in any of this.
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
#include "client/delivery/worker_table.h"
#include "pipeline/plan/epoch_plan.h"

namespace penstock {

struct TrackerOptions {
  uint64_t rank = 0;
  Cursor start;
  uint64_t epochs = 1;         // the one begun in counts as one; 0: without end
  uint64_t window_steps = 16;  // at least 2
  // Steps of one grant: half the window unless said. A window of less than 4 is granted step by step, since it would
  // run empty otherwise.
  uint64_t grant_steps = 0;
  std::shared_ptr<const ShardOffsets> offsets;
  PlanOptions plan;
};

struct DeliveryStats {
  uint64_t duplicate_rows = 0;
  uint64_t fetched_rows = 0;       // asked for again
  uint64_t fetched_elsewhere = 0;  // of these, of another worker than the one that they were granted to
  uint64_t broken_streams = 0;
  uint64_t view_changes = 0;
};

class DeliveryTracker {
 public:
  // The row's slot is this caller's to fill; it ends in Filled, Failed or Released.
  struct Slot {
    uint64_t ordinal = 0;  // of the step
    uint64_t row = 0;      // of the slice
  };
  enum class Claim {
    kYours,
    kDuplicate,  // it is there, or someone is filling it, or its step is over: drop it
    kUnwanted,   // never asked for: the sender is out of order
  };

  // Rows of fetches that one worker has not answered: a worker keeps what it is asked for in memory.
  static constexpr uint64_t kMaxFetches = 16384;

  DeliveryTracker(const Steps& steps, TrackerOptions options);

  // ---- What happens. Afterwards TakeCommands says what is to be done.
  // Views from outside must have been validated, with a key space that fits. An older one than the latest is ignored.
  void ViewChanged(std::shared_ptr<const View> view, Nanos now);
  void Heard(uint64_t stream, Nanos now);
  void WorkerDrains(uint64_t stream, Nanos now);
  // `error` says why; OK when the worker closed it in order.
  void StreamBroken(uint64_t stream, absl::Status error, Nanos now);
  // A row arrives on a stream (which may have been closed meanwhile).
  Claim RowArrived(uint64_t stream, uint64_t epoch, uint64_t row_number, Nanos now, Slot* slot);
  void Filled(const Slot& slot, uint64_t stream);
  // The worker could not make it. Unavailable, Aborted, Cancelled and DeadlineExceeded: another is asked, again and
  // again. FailedPrecondition and ResourceExhausted: every other worker is asked once. Other codes, and the same from
  // all, are the row's outcome.
  void Failed(const Slot& slot, uint64_t stream, absl::Status error, Nanos now);
  // It could not be filled after all (its bytes are not what they should be): missing again.
  void Released(const Slot& slot, Nanos now);
  // The trainer waits for the head step from now on (no effect when it waits already).
  void TrainerWaits(Nanos now);
  // The trainer took the head step, which must be complete and without a failure.
  void StepTaken(Nanos now);
  // From now on so many steps are booked ahead, at least 2; what is booked stays. Told again after each step taken.
  void SetWindow(uint64_t steps);
  // Time passed. To be called at NextTick() at the latest.
  void Tick(Nanos now);

  // In the order in which they are to be carried out.
  std::vector<Command> TakeCommands();
  bool has_commands() const { return !commands_.empty(); }

  // ---- How things are.
  // All steps asked for were taken.
  bool finished() const { return head_ordinal_ == total_steps_; }
  // The cursor behind the steps taken.
  Cursor cursor() const { return head_; }
  // Ordinal of the step that the trainer takes next.
  uint64_t head_ordinal() const { return head_ordinal_; }
  bool head_complete() const { return !booked_.empty() && booked_.front().complete(); }
  // Of the head step; only when complete. Not OK: the failure of its first failed row.
  const absl::Status& head_failure() const { return booked_.front().failure; }
  const StepSpan& head_span() const { return booked_.front().span; }
  bool IsComplete(uint64_t ordinal) const;
  uint64_t complete_steps() const;
  // Not OK when every worker of the view refuses this session (memory, another job): nothing will come.
  absl::Status Refusal() const;
  // Grows whenever Refusal() becomes another: who waits for the head step must look again, also when no row came.
  uint64_t refusal_changes() const { return refusal_changes_; }
  // What the head step lacks, how those who owe it are doing, what workers say of its rows, and what is being tried.
  // Costs one look at each row of the step: cheap enough for once a second.
  std::string DescribeMissing() const;
  // When Tick is needed next, at the latest.
  Nanos NextTick(Nanos now) const;
  // Ids of the workers that cannot be reached, or are silent although they owe rows and others speak.
  std::vector<std::string> FailedWorkers() const;
  // Id of the worker that the stream leads to; "" when it is not open any more.
  std::string WorkerOf(uint64_t stream) const {
    const uint32_t worker = workers_.OfStream(stream);
    return worker == kNoWorker ? "" : workers_[worker].id;
  }
  // Steps that are asked for ahead, as of the last SetWindow.
  uint64_t window_steps() const { return window_steps_; }
  const DeliveryStats& stats() const { return stats_; }

 private:
  // The window (delivery_tracker.cc).
  void Advance(Nanos now);
  void GrantRun(uint64_t run, Nanos now);
  // Workers that own any row of this rank's slices.
  std::vector<uint32_t> Owners(const View& view, const StepSpan& step) const;
  void CloseIdleStreams();
  // Whether the worker gets a grant of what it owns.
  bool TakesGrants(const TrackedWorker& worker) const;
  void SayWaiting();
  BookedStep* Find(uint64_t epoch, uint64_t row_number);
  BookedStep& At(uint64_t ordinal) { return booked_[ordinal - head_ordinal_]; }
  const EpochPlan& Plan(uint64_t epoch);
  uint64_t EnsureStream(uint32_t worker);

  // Who is asked for missing rows (recovery.cc).
  struct FetchKey {
    uint32_t worker;
    uint64_t epoch;
    bool operator<(const FetchKey& o) const { return worker != o.worker ? worker < o.worker : epoch < o.epoch; }
  };
  using Fetches = std::map<FetchKey, std::vector<uint64_t>>;
  // Writes down who owes the step's missing rows, as the grant's view has it. No effect when that was done before.
  void EnsureAsks(BookedStep* step);
  // The worker, whose stream is gone, owes nothing any more.
  void Disown(uint32_t worker);
  // Someone to ask for the row other than `current`, who has room for it, the next in the row's order of workers;
  // kNoWorker: nobody. strict: only one that is well, rather than any that answers.
  uint32_t Choose(const BookedStep& step, uint64_t row, uint32_t current, bool strict);
  void Ask(BookedStep* step, uint64_t row, uint32_t worker, Nanos now, Fetches* fetches);
  void Send(Fetches fetches);
  // Finds someone for the missing rows that nobody owes.
  void Reassign(Nanos now);
  // The row is answered, or asked of another: it counts among nobody's fetches.
  void EndFetch(RowAsk* ask);
  bool HasRoom(uint32_t worker) const { return workers_[worker].fetches < kMaxFetches; }
  void GiveUp(BookedStep* step, uint64_t row, absl::Status error);
  // The sender's word that it cannot give the row's content.
  void Refused(BookedStep* step, uint64_t row, uint32_t sender, absl::Status error, Nanos now, Fetches* fetches);
  // Asks one that has not refused the row; ends it when there is nobody to wait for.
  void AskOthers(BookedStep* step, uint64_t row, Nanos now, Fetches* fetches);
  void ChaseLateRows(Nanos now);
  void ChaseSuspects(Nanos now);
  void UpdateRefusal();

  // Workers that hold the trainer up (slow_workers.cc).
  struct Owed {
    uint64_t rows = 0;
    Nanos since = INT64_MAX;  // when the first of them was asked for
  };
  // What each worker owes of the head step, whose asks are known.
  std::vector<Owed> OwedOfHead() const;
  // The part of this rank's rows that the view gives to each worker.
  std::vector<double> SharesUnder(const View& view) const;
  // Seconds per row of a whole step that workers other than `except` need for their shares, at their best; 0: unknown.
  double UsualTime(const std::vector<double>& shares, uint32_t except, Nanos now) const;
  bool AnySlow() const;
  std::vector<uint32_t> WellWithRoom() const;
  void FindSlow(Nanos now);
  void ChaseSlow(Nanos now);
  // Ends the stream of a slow worker, which drops what it was asked for; it gets what is granted from then on.
  void Restart(uint32_t worker);
  void FreeSlow();
  void DropOldGrants();

  const Steps steps_;
  const TrackerOptions options_;
  uint64_t total_steps_;
  uint64_t window_steps_;
  uint64_t grant_steps_;

  WorkerTable workers_;
  std::shared_ptr<const View> view_;          // the latest; null: none yet
  std::shared_ptr<const View> granted_view_;  // of the last grant

  std::deque<BookedStep> booked_;  // [0] is the head
  uint64_t head_ordinal_ = 0;
  Cursor head_;           // of the head step
  Cursor next_;           // of the next step to grant
  bool orphans_ = false;  // some missing row may be owed by nobody

  Lateness lateness_;
  std::optional<Nanos> waiting_since_;
  bool said_waiting_ = false;
  // Of rows that are asked for again, since the last step was taken: what each worker said last.
  std::map<uint32_t, absl::Status> row_errors_;
  absl::Status refusal_;  // as of the last change
  uint64_t refusal_changes_ = 0;
  std::map<uint64_t, EpochPlan> plans_;  // of the epochs in the window

  std::vector<Command> commands_;
  DeliveryStats stats_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_DELIVERY_DELIVERY_TRACKER_H_
