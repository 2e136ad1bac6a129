// The steps that are booked ahead of the trainer: the delivery core and the memory of its steps, behind one lock. The
// control strand drives the core, copying tasks claim rows and fill them, the trainer takes steps.
//
// The lock is held for bookkeeping only: never while rows are copied, memory is allocated, or anything is sent.
#ifndef PENSTOCK_CLIENT_SESSION_WINDOW_H_
#define PENSTOCK_CLIENT_SESSION_WINDOW_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "client/assembly/batch_builder.h"
#include "client/delivery/delivery_tracker.h"
#include "client/delivery/window_size.h"
#include "client/session/work_times.h"
#include "penstock/stats.h"
#include "penstock/v1/data.pb.h"

namespace penstock {

// Thread-safe. Hooks are called without the lock.
class Window {
 public:
  static constexpr uint64_t kOwnRecord = UINT64_MAX;
  struct Step {
    StepSpan span;
    SlotRange slice;
    std::shared_ptr<BatchBuilder> builder;
    // Of each row, written by the one who fills it.
    std::vector<uint8_t> valid;
    std::vector<uint64_t> source;  // the record whose content it holds; kOwnRecord: its own
    std::vector<uint8_t> policy;   // v1::ROW_MASKED, v1::ROW_SUBSTITUTED, or 0: what the error policy did
    // Of rows that are no padding; known when the step is sealed.
    uint64_t masked_rows = 0, substituted_rows = 0;
  };
  // A row of a message: its slot, or none where the row is to be dropped; and what became of it.
  struct Claimed {
    DeliveryTracker::Slot slot;
    std::shared_ptr<Step> step;  // null: drop it
    bool written = false;
    absl::Status failure;  // not OK: the worker says that the row failed
  };
  struct Complete {
    uint64_t ordinal = 0;
    std::shared_ptr<Step> step;
  };
  // What the trainer is given: a step, or why there is none.
  struct Taken {
    std::shared_ptr<Step> step;
    absl::Status status;
  };
  // What a report to the coordinator says of the session. Sums are since its beginning.
  struct Progress {
    Cursor cursor;
    uint64_t rows = 0;
    Nanos waited = 0;  // a wait under way counts
    std::vector<std::string> failed_workers;
    std::vector<std::string> carriers;  // that rows came through so far
    v1::SessionTimes times;             // what the window knows of them
  };

  // `job` is named in errors. Books options.window_steps ahead, and up to `most_steps` where workers are far.
  Window(std::string job, const Steps& steps, TrackerOptions options, uint64_t most_steps, Clock* clock);

  // Called when there is something to do for the control strand, and when the trainer may have something due. Before
  // anything else is called.
  void SetHooks(std::function<void()> work, std::function<void()> due);

  // ---- The control strand.
  void ViewChanged(std::shared_ptr<const View> view);
  // What is to be done now, in order; `next` is when to ask again at the latest.
  std::vector<Command> Tick(Nanos* next);
  void Book(uint64_t ordinal, std::shared_ptr<Step> step);
  // Ends the session: what is complete is handed out before.
  void Fail(absl::Status why);
  // Ends the session: the next thing that the trainer gets.
  void JobGone(absl::Status why);
  Progress GetProgress() const;
  // What the trainer waits for, and for how long, in words; empty when it has waited for less than `least`.
  std::string DescribeWait(Nanos least) const;
  // What the coordinator said last is wrong with the job's files, said behind what a trainer waits for.
  void SetTroubles(std::vector<std::string> lines);
  std::string DescribeTroubles() const;  // "; Worker w1: ..."; "" where there are none
  // When the wait under way began.
  std::optional<Nanos> waiting_since() const;

  // ---- Receiving. Any thread.
  void Heard(uint64_t stream);
  // Rows came through that carrier (MessageStream::carrier).
  // A carrier of rows that came compressed has kCompressed behind its name.
  static constexpr char kCompressed[] = "+zstd";
  void Carried(std::string_view carrier, size_t payload_bytes);
  void WorkerDrains(uint64_t stream);
  void StreamBroken(uint64_t stream, absl::Status why);
  // Fills `claimed`, one for each row of the message. InvalidArgument: a row came that was not asked for; those before
  // it may be claimed. Each claim ends in Fill.
  absl::Status Claim(uint64_t stream, const v1::Rows& rows, size_t payload_bytes, std::vector<Claimed>* claimed);
  // Rows that are neither written nor failed are missing again. `bad`: not OK when the message was not sound: the
  // stream counts as broken. Returns the steps that are complete now, each to be sealed by the caller.
  std::vector<Complete> Fill(uint64_t stream, const std::vector<Claimed>& claimed, const absl::Status& bad);
  // `status`: of sealing, which took so long.
  void Sealed(uint64_t ordinal, absl::Status status, Nanos took);
  // Rows of a message were copied into their slots, in so long.
  void Copied(Nanos took);

  // ---- The trainer.
  // What is due now, or nothing: the trainer then waits, from now on.
  std::optional<Taken> Take();
  // The same, waiting on the caller's thread for at most `timeout`; then DeadlineExceeded, which says what is missing.
  Taken TakeWithin(Nanos timeout);
  // Each later Take says Cancelled.
  void Cancel();
  Cursor cursor() const;
  ReaderStats Stats() const;

  // Nothing is claimed any more; lets go of all memory.
  void Close();

 private:
  struct Booked {
    std::shared_ptr<Step> step;
    bool sealed = false;
    absl::Status status;  // of sealing
    std::string last;     // the worker whose row made it complete
  };

  std::optional<Taken> TakeLocked(Nanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether something is due: then `taken` is what, or the head step is to be taken.
  bool Due(Taken* taken) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndWait(Nanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Nanos WaitedLocked(Nanos now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string TroublesLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The trainer may have something due: `changed_` was told by whoever calls this, without the lock.
  void NotifyDue();

  const std::string job_;
  Clock* const clock_;
  std::function<void()> work_;
  std::function<void()> due_;

  mutable Mutex mutex_;
  CondVar changed_;  // for TakeWithin
  DeliveryTracker tracker_ ABSL_GUARDED_BY(mutex_);
  WindowSize size_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, Booked> booked_ ABSL_GUARDED_BY(mutex_);  // by ordinal
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status job_gone_ ABSL_GUARDED_BY(mutex_);
  absl::Status failed_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> troubles_ ABSL_GUARDED_BY(mutex_);
  Nanos waited_ ABSL_GUARDED_BY(mutex_) = 0;                    // by waits that are over
  std::optional<Nanos> waiting_since_ ABSL_GUARDED_BY(mutex_);  // the trainer's wait under way
  ReaderStats stats_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint64_t, std::less<>> carried_ ABSL_GUARDED_BY(mutex_);  // bytes, by carrier
  WorkTimes times_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SESSION_WINDOW_H_
