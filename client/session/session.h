// A running session: connects its parts.
//
//   worker stream -> receiver.h, on the copying executor: claim slots, copy rows, seal full steps -> Next
//   control strand: drives the delivery core (window.h), carries out its commands (worker_links.h), follows the job
//                   (job_watch.h), reports progress (progress_reports.h), reports waits (wait_notice.h), asks which
//                   records are bad (record_verdicts.h)
//
// A session creates no threads and uses the clocks of its executors. Only Next blocks.
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
#include "client/session/job_info.h"
#include "client/session/job_watch.h"
#include "client/session/progress_reports.h"
#include "client/session/receiver.h"
#include "client/session/record_verdicts.h"
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

namespace penstock::client {

struct SessionOptions {
  uint32_t rank = 0;
  plan::Cursor start;
  uint64_t epochs = 1;
  uint64_t window_steps = 16;
  uint64_t most_window_steps = 16;  // limit for distant workers
  size_t max_free_bytes = 0;        // limit of batch memory kept for later batches
  Allocator* allocator = nullptr;
  // The request that opened the session. The session sends it again if the coordinator does not know the session.
  v1::OpenSessionRequest open;
  std::string session_id;
  std::string ticket;      // from the coordinator, for the workers; "": none
  net::JobMirror watched;  // the job as the coordinator reported it
  // Receives the cause of the trainer's waits, on the control strand; may be null. See ReaderOptions::on_wait.
  std::function<void(const std::string&)> on_wait;
  std::function<void(const std::string&)> on_notice;  // as ReaderOptions::on_notice; may be null
};

// The runtime of a session. All objects must outlive it.
struct SessionRuntime {
  Executor* control = nullptr;  // messages and bookkeeping
  Executor* copying = nullptr;  // rows
  transport::Transport* transport = nullptr;
  uint32_t copy_threads = 0;  // threads of `copying`, for reports; 0: not reported
};

// Thread-safe, except that Next and TryNext must not run concurrently. Must be destroyed only when its executors run
// none of its tasks: after they were stopped or, in a simulation, between tasks.
class Session {
 public:
  Session(JobInfo job, const plan::Steps& steps, SessionOptions options, std::shared_ptr<CoordinatorClient> coordinator,
          const SessionRuntime& runtime);
  ~Session();

  // Starts fetching. Must be called once, before the other functions. Calls `on_due`, if not null, on any thread
  // whenever TryNext may have a new result; `on_due` must not block.
  void Start(std::shared_ptr<const plan::View> view, std::function<void()> on_due = nullptr);

  // As Reader::Next.
  absl::StatusOr<Batch> Next(absl::Duration timeout);
  // Like Next, but returns nullopt instead of blocking. The trainer then counts as waiting.
  std::optional<absl::StatusOr<Batch>> TryNext();
  void Cancel();
  plan::Cursor cursor() const { return window_->cursor(); }
  ReaderStats Stats() const { return window_->Stats(); }

  // Ends the streams and closes the session at the coordinator. Calls `done` on the control strand after both, but
  // after 0.4 s at the latest. Must be called at most once. Next then returns Cancelled.
  void Close(std::function<void()> done);

 private:
  // Functions on the strand.
  void Turn();
  void CarryOut(const Command& command);
  void TellNotice();
  void Book(const BookStep& book);
  void OnNews(const absl::StatusOr<std::shared_ptr<const plan::View>>& news);
  void CloseOnStrand();
  void MaybeClosed();
  // Takes a new ticket; "": there is none.
  void TakeTicket(const std::string& ticket);
  void TakeTraces(const v1::ReportSessionReply& reply);

  // Any thread.
  absl::StatusOr<Batch> Finish(Window::Taken taken) const;

  const std::shared_ptr<const JobInfo> job_;
  const plan::Steps steps_;
  const SessionOptions options_;
  const std::shared_ptr<CoordinatorClient> coordinator_;
  Strand strand_;  // outlives the members below, which use it
  const std::shared_ptr<Mailbox> mailbox_;
  const std::shared_ptr<BatchMemory> memory_;
  const std::shared_ptr<TraceRecorder> trace_;
  const std::shared_ptr<Window> window_;
  const std::shared_ptr<std::atomic<bool>> awake_;  // a turn is posted

  WorkerLinks links_ ABSL_GUARDED_BY(strand_);
  JobWatch watch_ ABSL_GUARDED_BY(strand_);
  net::TraceTaker traces_;
  TrainerTrace trainer_trace_;
  ProgressReports reports_ ABSL_GUARDED_BY(strand_);
  RecordVerdicts verdicts_ ABSL_GUARDED_BY(strand_);
  WaitNotice wait_notice_ ABSL_GUARDED_BY(strand_);
  Nanos turn_due_ ABSL_GUARDED_BY(strand_) = 0;  // 0: no turn yet
  StrandTimer next_turn_ ABSL_GUARDED_BY(strand_);
  StrandTimer give_up_ ABSL_GUARDED_BY(strand_);   // limits the time of closing
  bool noticed_ ABSL_GUARDED_BY(strand_) = false;  // on_notice was called
  bool closing_ ABSL_GUARDED_BY(strand_) = false;
  bool session_closed_ ABSL_GUARDED_BY(strand_) = false;  // closed at the coordinator
  std::function<void()> closed_ ABSL_GUARDED_BY(strand_);
};

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_SESSION_SESSION_H_
