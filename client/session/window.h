// The steps that are booked ahead of the trainer: the delivery core and the memory of its steps, behind one lock. The
// control strand drives the core, copying tasks claim and fill rows, and the trainer takes steps.
//
// The lock is held for bookkeeping only, never while rows are copied, batches are allocated, or data is sent.
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

namespace penstock::client {

// Thread-safe. Calls the hooks without the lock.
class Window {
 public:
  static constexpr uint64_t kOwnRecord = UINT64_MAX;
  struct Step {
    plan::StepSpan span;
    plan::SlotRange slice;
    std::shared_ptr<BatchBuilder> builder;
    // One element for each row, written by the thread that fills the row.
    std::vector<uint8_t> valid;
    std::vector<uint64_t> source;  // record of the row's content; kOwnRecord: its own
    // With a selection: the numbers of the row's record, and of `source`, in their file. Empty without one.
    std::vector<uint64_t> number, source_number;
    std::vector<uint8_t> policy;  // v1::ROW_MASKED, v1::ROW_SUBSTITUTED, or 0: the effect of the error policy
    // Without padding rows. Set when the step is sealed.
    uint64_t masked_rows = 0, substituted_rows = 0;
  };
  // A row of a message: its slot and step, and the result of the write.
  struct Claimed {
    DeliveryTracker::Slot slot;
    std::shared_ptr<Step> step;  // null: drop the row
    bool written = false;
    absl::Status failure;                    // not OK: the worker reported that the row failed
    std::optional<uint64_t> damaged_record;  // with `failure`: the worker's copy of this record is damaged
  };
  struct Complete {
    uint64_t ordinal = 0;
    std::shared_ptr<Step> step;
  };
  // The result for the trainer: a step, or the reason that there is none.
  struct Taken {
    std::shared_ptr<Step> step;
    absl::Status status;
  };
  // The session's state for a report to the coordinator. Sums are since the session's start.
  struct Progress {
    plan::Cursor cursor;
    uint64_t rows = 0;
    Nanos waited = 0;  // includes a current wait
    std::vector<std::string> failed_workers;
    std::vector<std::string> carriers;  // carriers that have delivered rows
    std::string carriers_note;          // reason that a worker on this host does not use shared memory
    v1::SessionTimes times;             // the fields that the window knows
  };

  // `job` is the job's name for errors. Books options.window_steps ahead, and up to `most_steps` for distant workers.
  Window(std::string job, const plan::Steps& steps, TrackerOptions options, uint64_t most_steps, Clock* clock);

  // Sets the hooks. `work` runs when the control strand has work. `due` runs when the trainer may have a result. Must
  // be called before any other function.
  void SetHooks(std::function<void()> work, std::function<void()> due);

  // ---- The control strand.
  void ViewChanged(std::shared_ptr<const plan::View> view);
  // Returns the commands to carry out, in order. Sets `next` to the time by which Tick must be called again.
  std::vector<Command> Tick(Nanos* next);
  void Book(uint64_t ordinal, std::shared_ptr<Step> step);
  // Marks records as bad, according to an update of the job.
  void Decided(const std::vector<uint64_t>& records);
  // Handles the coordinator's answer: the bad records, and those of which some worker has an intact copy.
  void Judged(const std::vector<uint64_t>& bad, const std::vector<uint64_t>& intact);
  // Records that the coordinator does not answer whether records are bad. The next Judged ends this state.
  void JudgeAway();
  // From now on, Take returns `why` while the head step is not complete. The trainer can still take complete steps.
  void Fail(absl::Status why);
  // Ends the session at once: the trainer's next Take returns `why`, unless the session was cancelled or its epochs are
  // over.
  void JobGone(absl::Status why);
  Progress GetProgress() const;
  // Returns how long the trainer has waited for the head step, and one cause, in at most 160 bytes. Returns "" if it
  // does not wait, or has waited for less than `least`.
  std::string DescribeWait(Nanos least) const;
  // Sets the reason why the job's readers wait while it is paused, or "". No row is late meanwhile.
  void SetPaused(std::string why);
  // Sets the coordinator's latest report about failing files of the job.
  void SetFileErrors(std::vector<std::string> lines);
  struct Wait {
    uint64_t step = 0;           // ordinal of the head step
    std::optional<Nanos> since;  // time of the trainer's first request for it; nullopt: not waiting
    bool files = false;          // the coordinator reported unreadable files
  };
  Wait CurrentWait() const;
  // Records that the process was stopped for this long. That time counts neither as the trainer's wait nor as a
  // worker's silence.
  void Stopped(Nanos length);

  // ---- Receiving. Any thread.
  void Heard(uint64_t stream);
  // The suffix of a carrier's name for compressed rows.
  static constexpr char kCompressed[] = "+zstd";
  // Records that rows of `payload_bytes`, after decompression, arrived through `carrier`: MessageStream::carrier, with
  // kCompressed for compressed rows. Must be called before their Claim, so that Stats includes the bytes of every step
  // that the trainer has taken. `note` is MessageStream::carrier_note. The window keeps the last nonempty one.
  void Carried(std::string_view carrier, std::string note, size_t payload_bytes);
  std::string carriers_note() const;
  void WorkerDrains(uint64_t stream);
  void StreamBroken(uint64_t stream, absl::Status why);
  // Fills `claimed` with one element for each row of the message. Returns InvalidArgument if a row was not requested;
  // rows before it may be claimed. The caller must pass all claims to Fill.
  absl::Status Claim(uint64_t stream, const v1::Rows& rows, std::vector<Claimed>* claimed);
  // Ends claims. Rows that are neither written nor failed are missing again. If `bad` is not OK, the message was
  // invalid, and the stream counts as broken. Returns the completed steps, which the caller must seal.
  std::vector<Complete> Fill(uint64_t stream, const std::vector<Claimed>& claimed, const absl::Status& bad);
  // Records the status and the duration of sealing.
  void Sealed(uint64_t ordinal, absl::Status status, Nanos took);
  // Records the duration of copying the rows of a message into their slots.
  void Copied(Nanos took);

  // ---- The trainer.
  // Returns the result that is due. If there is none, returns nullopt, and the trainer counts as waiting from now on.
  std::optional<Taken> Take();
  // Like Take, but blocks for up to `timeout`, and then returns DeadlineExceeded with a description of the missing
  // rows. After that, the trainer does not count as waiting.
  Taken TakeWithin(Nanos timeout);
  // Makes a blocked TakeWithin and each later Take return Cancelled.
  void Cancel();
  plan::Cursor cursor() const;
  ReaderStats Stats() const;

  // Cancels, makes later claims empty, and releases the memory of the booked steps.
  void Close();

 private:
  struct Booked {
    std::shared_ptr<Step> step;
    bool sealed = false;
    absl::Status status;  // status of sealing
    std::string last;     // the worker whose row completed the step
  };

  std::optional<Taken> TakeLocked(Nanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns true if a result is due: an error or a step in `taken`.
  bool Due(Taken* taken) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndWait(Nanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Nanos WaitedLocked(Nanos now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns true if the row's content is from a record that may be used.
  bool AcceptsLocked(uint64_t stream, const v1::Rows& rows, int row, const DeliveryTracker::Slot& slot, Nanos now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string FileErrorsLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Wakes the trainer after a change. Must be called without the lock.
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
  std::vector<std::string> file_errors_ ABSL_GUARDED_BY(mutex_);
  std::string paused_ ABSL_GUARDED_BY(mutex_);                  // as in SetPaused
  Nanos waited_ ABSL_GUARDED_BY(mutex_) = 0;                    // total of finished waits
  Nanos waited_for_head_ ABSL_GUARDED_BY(mutex_) = 0;           // finished waits, after timeouts, for the next step
  std::optional<Nanos> waiting_since_ ABSL_GUARDED_BY(mutex_);  // start of the trainer's current wait
  // Time of the trainer's first request for the head step. A timeout does not reset it.
  std::optional<Nanos> asked_since_ ABSL_GUARDED_BY(mutex_);
  ReaderStats stats_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint64_t, std::less<>> carried_ ABSL_GUARDED_BY(mutex_);  // bytes by carrier
  std::string carriers_note_ ABSL_GUARDED_BY(mutex_);
  WorkTimes times_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_SESSION_WINDOW_H_
