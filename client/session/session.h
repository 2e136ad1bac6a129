// A running session: what ties its parts together.
//
//   worker stream -> receiver.h, on the copying executor: claim slots, copy rows, seal full steps -> Next
//   control strand: drives the delivery core (window.h), carries out what it asks for (worker_links.h), follows the job
//                   (job_watch.h), reports progress (progress_reports.h), tells of waits (wait_notice.h)
//
// It makes no thread and reads no clock but its executors'; nothing blocks but Next.
#ifndef PENSTOCK_CLIENT_SESSION_SESSION_H_
#define PENSTOCK_CLIENT_SESSION_SESSION_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/runtime/mailbox.h"
#include "base/runtime/strand.h"
#include "client/session/bad_records.h"
#include "client/session/job_info.h"
#include "client/session/job_watch.h"
#include "client/session/progress_reports.h"
#include "client/session/receiver.h"
#include "client/session/trainer_trace.h"
#include "client/session/wait_notice.h"
#include "client/session/window.h"
#include "client/session/worker_links.h"
#include "client/transport/coordinator_client.h"
#include "net/job_mirror.h"
#include "net/trace/trace_taker.h"
#include "penstock/batch.h"
#include "penstock/stats.h"
#include "transport/message_stream.h"

namespace penstock {

struct SessionOptions {
  uint32_t rank = 0;
  Cursor start;
  uint64_t epochs = 1;
  uint64_t window_steps = 16;
  uint64_t most_window_steps = 16;  // where workers are far
  size_t max_free_bytes = 0;        // of batch memory kept for later batches
  Allocator* allocator = nullptr;
  // As sent to the coordinator; sent again when it has forgotten the session.
  v1::OpenSessionRequest open;
  std::string session_id;
  JobMirror watched;  // the job as the coordinator told of it
  // Told, on the control strand, what the trainer waits for; null: nobody. See ReaderOptions::on_wait.
  std::function<void(const std::string&)> on_wait;
};

// What a session runs on. All outlive it.
struct SessionRuntime {
  Executor* control = nullptr;  // messages and bookkeeping
  Executor* copying = nullptr;  // rows
  Transport* transport = nullptr;
  uint32_t copy_threads = 0;  // of `copying`, as the coordinator is told; 0: it is not
};

// Functions are for any thread, Next and TryNext for one at a time. Let go of when its executors run nothing of it any
// more: they were stopped, or (in a simulation) are between tasks.
class Session {
 public:
  Session(JobInfo job, const Steps& steps, SessionOptions options, std::shared_ptr<CoordinatorClient> coordinator,
          const SessionRuntime& runtime);
  ~Session();

  // Begins to fetch. `on_due`, when given, is called on any thread whenever TryNext may have something to say that it
  // had not before; it must not block.
  void Start(std::shared_ptr<const View> view, std::function<void()> on_due = nullptr);

  // As Reader says it.
  absl::StatusOr<Batch> Next(absl::Duration timeout);
  // The same without waiting: nothing when Next would wait. The trainer counts as waiting from then on.
  std::optional<absl::StatusOr<Batch>> TryNext();
  void Cancel();
  Cursor cursor() const { return window_->cursor(); }
  ReaderStats Stats() const { return window_->Stats(); }

  // Ends the streams and closes the session at the coordinator. `done` is called on the control strand when both have
  // happened, after half a second at the latest. Once.
  void Close(std::function<void()> done);

 private:
  // On the strand.
  void Turn();
  void CarryOut(const Command& command);
  void Book(const BookStep& book);
  void OnNews(const absl::StatusOr<std::shared_ptr<const View>>& news);
  void CloseOnStrand();
  void MaybeClosed();
  void TakeTraces(const v1::ReportSessionReply& reply);

  // Any thread.
  absl::StatusOr<Batch> Finish(Window::Taken taken) const;

  const std::shared_ptr<const JobInfo> job_;
  const Steps steps_;
  const SessionOptions options_;
  const std::shared_ptr<CoordinatorClient> coordinator_;
  Strand strand_;  // outlives what uses it below
  const std::shared_ptr<Mailbox> mailbox_;
  const std::shared_ptr<BatchMemory> memory_;
  const std::shared_ptr<BadRecords> bad_records_;
  const std::shared_ptr<TraceRecorder> trace_;
  const std::shared_ptr<Window> window_;
  const std::shared_ptr<std::atomic<bool>> awake_;  // a turn is posted

  WorkerLinks links_ ABSL_GUARDED_BY(strand_);
  JobWatch watch_ ABSL_GUARDED_BY(strand_);
  TraceTaker traces_;
  TrainerTrace trainer_trace_;
  ProgressReports reports_ ABSL_GUARDED_BY(strand_);
  WaitNotice wait_notice_ ABSL_GUARDED_BY(strand_);
  StrandTimer next_turn_ ABSL_GUARDED_BY(strand_);
  StrandTimer give_up_ ABSL_GUARDED_BY(strand_);  // closing
  bool closing_ ABSL_GUARDED_BY(strand_) = false;
  bool session_closed_ ABSL_GUARDED_BY(strand_) = false;  // at the coordinator
  std::function<void()> closed_ ABSL_GUARDED_BY(strand_);
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SESSION_SESSION_H_
