// One client's stream: messages in, rows out.
//
// A session is a strand: what a message asks for, which rows are requested, what is written, timers and the end happen
// there one after another, on any executor, and nothing of it blocks. The loader's threads hand rows in under a short
// lock and post to the strand only when there is something to send, not for each row.
//
//   message ─▶ SessionCore (what is owed, compact) ─▶ a window of rows asked of the loader ─▶ Outbox ─▶ one write
//
// What a client may have here at one time is bounded, whatever it asks for: rows that were fetched come from the loader
// only as fast as the client takes them, what it asked for and was not begun is charged to its memory, and a client
// that takes nothing while others need the memory is closed, with a word in the log.
#ifndef PENSTOCK_SERVER_WORKER_STREAM_STREAM_SESSION_H_
#define PENSTOCK_SERVER_WORKER_STREAM_STREAM_SESSION_H_

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "base/runtime/executor.h"
#include "base/runtime/strand.h"
#include "penstock/v1/data.pb.h"
#include "pipeline/loader/loader.h"
#include "server/worker/jobs/bad_record_log.h"
#include "server/worker/jobs/served_jobs.h"
#include "server/worker/stream/link_news.h"
#include "server/worker/stream/outbox.h"
#include "server/worker/stream/send_coding.h"
#include "server/worker/stream/send_times.h"
#include "server/worker/stream/send_trace.h"
#include "server/worker/stream/session_core.h"
#include "server/worker/stream/session_opening.h"
#include "transport/message_stream.h"

namespace penstock {

// What the sessions of a worker share. Outlives them.
struct SessionShared {
  std::string worker_id;
  Loader* loader = nullptr;
  ServedJobs* jobs = nullptr;
  BadRecordLog* bad_records = nullptr;  // told of them; null: nobody is
  Executor* executor = nullptr;         // of the sessions' strands, clock and timers
  uint32_t max_sessions = 256;
  SessionLimits limits;
  OutboxLimits outbox;
  Nanos open_wait = 10 * kSecond;   // for a stream's first message
  Nanos job_wait = 2 * kSecond;     // for a job that the coordinator has not told this worker of yet
  AheadLimits ahead;                // of grants, in the loader or waiting to be sent, for each session
  std::atomic<size_t> far_rows{0};  // the same, at least, as long as reads are slow: what keeps them all under way
  // The same of fetches, in bytes and in rows: enough to fill a message while others are on their way.
  uint64_t fetched_bytes = uint64_t{8} << 20;
  size_t fetched_rows = 2048;
  size_t message_bytes = size_t{8} << 20;  // of one message of a client
  Nanos stalled_after = kSecond;           // of a write that the client does not take: its rows may all be revoked
  Nanos hoard_time = 10 * kSecond;         // of such a write, while others need the memory: the session is closed
  WireCompression compression = WireCompression::kAuto;
  SendTimes sends;
  TraceRecorder* trace = nullptr;  // null: none
  std::atomic<uint64_t> bytes_sent{0};
  std::atomic<uint32_t> open_sessions{0};
};

// Thread-safe.
class StreamSession final : public StreamEvents, public RowSink, public std::enable_shared_from_this<StreamSession> {
 public:
  // `ended` is called once, on the strand, when the stream has closed and the loader has let go of this session. Until
  // then whoever gave it keeps the session.
  StreamSession(SessionShared* shared, std::shared_ptr<MessageStream> stream, std::function<void(StreamSession*)> ended)
      : shared_(shared),
        strand_(shared->executor),
        stream_(std::move(stream)),
        ended_(std::move(ended)),
        trace_(shared->trace) {}

  // Begins to read. Once, before all others.
  void Start();
  // Tells the client that this worker will leave.
  void SendDraining();
  // Ends the stream, unless it has ended.
  void End(absl::Status status);

  // From the stream.
  void OnMessage(SliceList message) override;
  void OnWritten() override;
  void OnClosed(const absl::Status& status) override;

  // From the loader.
  void OnRow(RowResult row) override;
  bool WillAsk(uint64_t epoch, uint64_t position, uint64_t record) override;
  size_t Revoke(size_t bytes, bool for_others) override;

 private:
  // On the strand.
  void Begin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void Handle(const SliceList& bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  // Opens the job, or tries again a little later until the coordinator has told of it.
  void TryOpen(std::shared_ptr<const v1::Open> open, Nanos since) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  absl::Status HandleOpen(const v1::Open& open) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  absl::Status HandleOpened(const v1::ClientMessage& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  absl::Status HandleFetch(const v1::Fetch& fetch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void ReadOn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  // Asks the loader for what there is room for.
  void Pump() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  size_t GrantWindow() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_) {
    return std::max(grant_window_, shared_->far_rows.load(std::memory_order_relaxed));
  }
  void PumpSoon() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  // Asks for the rows, as many as the loader takes; the rest goes to unasked_. Whether all were taken. `again`: they
  // were in unasked_ before.
  bool Ask(const std::vector<RowRequest>& rows, bool again = false) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  // Starts the next write if there is one to be started.
  void Write() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  // The message of the rows whose time has come; nothing when there are none, then a timer may be set.
  std::optional<SliceList> NextRowsMessage() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void Woken() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void CheckHoard() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void EndHere(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void Leave() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  bool TakeSeat() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void TellOfBadRecord(const RowResult& row);
  // A warning that names this session.
  void Warn(const absl::Status& status) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);

  // Whether a message waits behind the write under way, for those who explain; looked at when that may have changed.
  void NoteFull(Nanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Runs `step` on the strand, unless the session is gone by then.
  void Post(void (StreamSession::*step)());
  void SetTimer(StrandTimer* timer, Nanos when, void (StreamSession::*step)()) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);

  SessionShared* const shared_;
  Strand strand_;
  std::shared_ptr<MessageStream> stream_ ABSL_GUARDED_BY(strand_);
  std::function<void(StreamSession*)> ended_ ABSL_GUARDED_BY(strand_);

  std::string name_ ABSL_GUARDED_BY(strand_);  // for people
  std::unique_ptr<Loader::Session> rows_ ABSL_GUARDED_BY(strand_);
  std::optional<SessionCore> core_ ABSL_GUARDED_BY(strand_);
  std::deque<std::unique_ptr<BudgetGrab>> fetch_grabs_ ABSL_GUARDED_BY(strand_);  // for the core's queued fetches
  std::vector<RowRequest> unasked_ ABSL_GUARDED_BY(strand_);                      // the loader had no room for
  std::deque<SliceList> control_ ABSL_GUARDED_BY(strand_);  // messages without rows: before all rows
  uint64_t fixed_bytes_ ABSL_GUARDED_BY(strand_) = 0;
  size_t fetch_window_ ABSL_GUARDED_BY(strand_) = 0;
  size_t grant_window_ ABSL_GUARDED_BY(strand_) = 0;  // rows; RowsAhead. At least: GrantWindow
  size_t requested_ ABSL_GUARDED_BY(strand_) = 0;     // rows of grants asked for and not yet handed to the stream
  size_t fetched_ ABSL_GUARDED_BY(strand_) = 0;       // the same of fetches
  bool writing_ ABSL_GUARDED_BY(strand_) = false;
  SendTrace trace_ ABSL_GUARDED_BY(strand_);
  SendCoding coding_ ABSL_GUARDED_BY(strand_);
  LinkNews link_ ABSL_GUARDED_BY(strand_);
  bool pump_posted_ ABSL_GUARDED_BY(strand_) = false;
  bool accepted_ ABSL_GUARDED_BY(strand_) = false;
  bool draining_ ABSL_GUARDED_BY(strand_) = false;
  bool seated_ ABSL_GUARDED_BY(strand_) = false;  // counted in open_sessions
  bool over_ ABSL_GUARDED_BY(strand_) = false;    // Close was called, or the client has gone
  bool closed_ ABSL_GUARDED_BY(strand_) = false;  // OnClosed came
  bool quiet_ ABSL_GUARDED_BY(strand_) = true;    // the loader has no rows for us
  StrandTimer open_timer_ ABSL_GUARDED_BY(strand_){&strand_};
  StrandTimer flush_timer_ ABSL_GUARDED_BY(strand_){&strand_};
  StrandTimer hoard_timer_ ABSL_GUARDED_BY(strand_){&strand_};

  // What the loader's threads touch.
  Mutex mutex_;
  std::shared_ptr<const LoadJob> job_ ABSL_GUARDED_BY(mutex_);
  uint64_t job_uid_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<Outbox> outbox_ ABSL_GUARDED_BY(mutex_);   // none before the job is open and after the end
  std::vector<RowRequest> revoked_ ABSL_GUARDED_BY(mutex_);  // to be asked for again
  std::optional<Nanos> write_began_ ABSL_GUARDED_BY(mutex_);
  std::optional<Nanos> flush_at_ ABSL_GUARDED_BY(mutex_);  // flush_timer_'s
  std::shared_ptr<const SessionCore::WillAsk> will_ask_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<JobSends> sends_ ABSL_GUARDED_BY(mutex_);  // null before the job is open and after the end
  bool full_ ABSL_GUARDED_BY(mutex_) = false;                // told to sends_
  bool wanted_ ABSL_GUARDED_BY(mutex_) = false;              // others needed memory during this write
  bool wake_posted_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_STREAM_STREAM_SESSION_H_
