// One client's stream: it receives messages and sends rows.
//
// A session is a strand. Its messages, row requests, writes, timers and end are processed there one after another, on
// any executor, without blocking. The loader's threads add rows under a short lock. They post to the strand only if
// there is something to send, not for each row.
//
//   message ─▶ SessionCore (owed rows, compact) ─▶ a window of rows requested from the loader ─▶ Outbox ─▶ one write
//
// The memory of a client is bounded, whatever it requests. The loader makes fetched rows only as fast as the client
// takes them. Requests that are not begun count toward the session's memory. If a client reads nothing while other
// sessions need the memory, the session closes its stream and logs a warning.
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
#include "server/peers/peer_counts.h"
#include "server/peers/rejections.h"
#include "server/tickets/ticket_gate.h"
#include "server/worker/jobs/bad_record_log.h"
#include "server/worker/jobs/record_reports.h"
#include "server/worker/jobs/served_jobs.h"
#include "server/worker/stream/link_news.h"
#include "server/worker/stream/outbox.h"
#include "server/worker/stream/send_coding.h"
#include "server/worker/stream/send_times.h"
#include "server/worker/stream/send_trace.h"
#include "server/worker/stream/sent_counts.h"
#include "server/worker/stream/session_core.h"
#include "server/worker/stream/session_opening.h"
#include "transport/message_stream.h"

namespace penstock::worker {

// State that the sessions of a worker share. It must outlive them.
struct SessionShared {
  std::string worker_id;
  loader::Loader* loader = nullptr;
  ServedJobs* jobs = nullptr;
  BadRecordLog* bad_records = nullptr;                // logs bad records; null: none
  RecordReports* reports = nullptr;                   // reports bad records that are new to bad_records; null: none
  Executor* executor = nullptr;                       // for the sessions' strands, clock and timers
  std::shared_ptr<const server::TicketGate> tickets;  // null: clients show no tickets
  uint32_t max_sessions = 256;
  SessionLimits limits;
  OutboxLimits outbox;
  Nanos open_wait = 10 * kSecond;  // limit for the arrival of a stream's first message
  Nanos job_wait = 2 * kSecond;    // limit for the arrival of a job from the coordinator
  AheadLimits ahead;               // limits per session for granted rows, in the loader or waiting to be sent
  // Minimum of rows ahead while reads are slow, which keeps all reads in flight.
  std::atomic<size_t> rows_for_slow_reads{0};
  // The limits for fetched rows, in bytes and in rows: enough to fill a message while others are in flight.
  uint64_t fetched_bytes = uint64_t{8} << 20;
  size_t fetched_rows = 2048;
  size_t message_bytes = size_t{8} << 20;  // limit for one message of a client
  // After this time a write that the client does not take is stalled, and all rows of its session are revocable.
  Nanos stalled_after = kSecond;
  Nanos hoard_time = 10 * kSecond;  // after this time such a write closes the session, if others need the memory
  WireCompression compression = WireCompression::kAuto;
  // Reclaims memory from sessions whose clients read nothing. These end if they read nothing for hoard_time. Returns
  // whether there are any. Null: nothing is reclaimed.
  std::function<bool()> reclaim_from_silent;
  SendTimes sends;
  TraceRecorder* trace = nullptr;  // null: no traces
  std::atomic<uint64_t> bytes_sent{0};
  SentCounts sent;
  std::atomic<uint32_t> open_sessions{0};
  std::unique_ptr<server::PeerCounts> streams_of_peer;  // limits the streams of one peer; null: no limits
  // Rejected connections, streams and HTTP requests.
  std::shared_ptr<server::Rejections> rejections = std::make_shared<server::Rejections>();
  std::atomic<uint64_t> failed_streams{0};  // streams with a job that ended with an error
};

// Thread-safe.
class StreamSession final : public transport::StreamEvents,
                            public loader::RowSink,
                            public std::enable_shared_from_this<StreamSession> {
 public:
  // Calls `ended` once, on the strand, when the stream has closed and the loader has released this session. Until then
  // the caller must keep the session.
  StreamSession(SessionShared* shared, std::shared_ptr<transport::MessageStream> stream,
                std::function<void(StreamSession*)> ended)
      : shared_(shared),
        strand_(shared->executor),
        stream_(std::move(stream)),
        peer_(stream_->peer()),
        peer_text_(peer_.ToString()),
        ended_(std::move(ended)),
        trace_(shared->trace),
        sent_(&shared->sent) {}

  // Starts reading. Call it once, before all other functions.
  void Start();
  // Notifies the client that this worker will leave.
  void SendDraining();
  // Ends the stream, unless it has ended.
  void End(absl::Status status);
  const transport::Peer& peer() const { return peer_; }
  // Returns whether the client has stalled a write. If so, other sessions count as needing its memory, as in Revoke.
  bool ReclaimIfSilent();

  // Events of the stream.
  void OnMessage(transport::SliceList message) override;
  void OnWritten() override;
  void OnClosed(const absl::Status& status) override;

  // Calls of the loader.
  void OnRow(loader::RowResult row) override;
  size_t Revoke(size_t bytes, bool for_others) override;

 private:
  // Functions that run on the strand.
  void Begin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void Handle(const transport::SliceList& bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  // Opens the job. Retries for up to job_wait until the coordinator has announced it, and briefly while memory is
  // short.
  void TryOpen(std::shared_ptr<const v1::Open> open, Nanos since) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  absl::Status HandleOpen(const v1::Open& open) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void TryOpenAgain(std::shared_ptr<const v1::Open> open, Nanos since, Nanos pause)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  absl::Status HandleOpened(const v1::ClientMessage& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  absl::Status HandleFetch(const v1::Fetch& fetch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  // Applies the fetch's decisions about bad records, and charges them to the memory budget.
  absl::Status FollowDecisions(const v1::Fetch& fetch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void ReadOn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  // Requests rows from the loader, as many as there is room for.
  void Pump() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  size_t GrantWindow() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_) {
    return std::max(grant_window_, shared_->rows_for_slow_reads.load(std::memory_order_relaxed));
  }
  void PumpSoon() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  // Requests the rows, as many as the loader takes, and moves the rest to unrequested_. Returns whether the loader took
  // all. `again`: the rows were in unrequested_ before.
  bool Ask(const std::vector<loader::RowRequest>& rows, bool again = false) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  // Starts the next write if one is due.
  void Write() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  // Returns the message of the rows that are due. Returns nullopt if there are none, and may then set a timer.
  std::optional<transport::SliceList> NextRowsMessage() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void Woken() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void CheckHoard() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void EndHere(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  // Ends the stream because of what its client does, and adds the client to the rejected callers.
  void Reject(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void Leave() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  bool TakeSeat() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void TellOfBadRecord(const loader::RowResult& row);
  // Logs a warning that names this session.
  void Warn(const absl::Status& status) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  // Logs news about this session's stream.
  void Tell(const std::string& news) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);

  // Updates whether a message waits for the current write, for explanations. Call it when that may have changed.
  void NoteFull(Nanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Runs `step` on the strand, unless the session is gone by then.
  void Post(void (StreamSession::*step)());
  void SetTimer(StrandTimer* timer, Nanos when, void (StreamSession::*step)()) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);

  SessionShared* const shared_;
  Strand strand_;
  std::shared_ptr<transport::MessageStream> stream_ ABSL_GUARDED_BY(strand_);
  const transport::Peer peer_;  // the client
  const std::string peer_text_;
  std::function<void(StreamSession*)> ended_ ABSL_GUARDED_BY(strand_);

  std::string name_ ABSL_GUARDED_BY(strand_);  // for people
  std::string job_name_ ABSL_GUARDED_BY(strand_);
  std::string label_ ABSL_GUARDED_BY(strand_);  // the session's label
  std::unique_ptr<loader::Loader::Session> rows_ ABSL_GUARDED_BY(strand_);
  std::optional<SessionCore> core_ ABSL_GUARDED_BY(strand_);
  // Memory of the core's queued fetches.
  std::deque<std::unique_ptr<loader::BudgetLease>> fetch_leases_ ABSL_GUARDED_BY(strand_);
  // Records that are bad for this client: those of the job, and those that its fetches named.
  std::shared_ptr<loader::DecidedRecords> decided_ ABSL_GUARDED_BY(strand_);
  std::vector<std::unique_ptr<loader::BudgetLease>> decided_leases_ ABSL_GUARDED_BY(strand_);
  uint64_t records_ ABSL_GUARDED_BY(strand_) = 0;                         // number of records of the job
  std::vector<loader::RowRequest> unrequested_ ABSL_GUARDED_BY(strand_);  // rows that the loader had no room for
  std::deque<transport::SliceList> control_ ABSL_GUARDED_BY(strand_);  // messages without rows; they go before all rows
  uint64_t fixed_bytes_ ABSL_GUARDED_BY(strand_) = 0;
  size_t fetch_window_ ABSL_GUARDED_BY(strand_) = 0;
  size_t grant_window_ ABSL_GUARDED_BY(strand_) = 0;  // rows from RowsAhead; GrantWindow() has a minimum
  // Granted rows that are requested and not yet passed to the stream.
  size_t requested_ ABSL_GUARDED_BY(strand_) = 0;
  size_t fetched_ ABSL_GUARDED_BY(strand_) = 0;  // the same for fetched rows
  bool writing_ ABSL_GUARDED_BY(strand_) = false;
  SendTrace trace_ ABSL_GUARDED_BY(strand_);
  SentCounts::Stream sent_ ABSL_GUARDED_BY(strand_);
  SendCoding coding_ ABSL_GUARDED_BY(strand_);
  LinkNews link_ ABSL_GUARDED_BY(strand_);
  bool pump_posted_ ABSL_GUARDED_BY(strand_) = false;
  bool accepted_ ABSL_GUARDED_BY(strand_) = false;
  bool draining_ ABSL_GUARDED_BY(strand_) = false;
  bool seated_ ABSL_GUARDED_BY(strand_) = false;  // counted in open_sessions
  server::PeerCounts::Place place_ ABSL_GUARDED_BY(strand_);
  bool lacks_memory_ ABSL_GUARDED_BY(strand_) = false;  // the last try to open lacked memory for its reserve
  bool over_ ABSL_GUARDED_BY(strand_) = false;          // Close was called, or the client disconnected
  bool closed_ ABSL_GUARDED_BY(strand_) = false;        // OnClosed was called
  bool quiet_ ABSL_GUARDED_BY(strand_) = true;          // the loader has no rows for this session
  StrandTimer open_timer_ ABSL_GUARDED_BY(strand_){&strand_};
  StrandTimer flush_timer_ ABSL_GUARDED_BY(strand_){&strand_};
  StrandTimer hoard_timer_ ABSL_GUARDED_BY(strand_){&strand_};

  // State that the loader's threads use.
  Mutex mutex_;
  std::shared_ptr<const loader::LoadJob> job_ ABSL_GUARDED_BY(mutex_);
  uint64_t job_uid_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<Outbox> outbox_ ABSL_GUARDED_BY(mutex_);           // null before the job is open and after the end
  std::vector<loader::RowRequest> revoked_ ABSL_GUARDED_BY(mutex_);  // to request again
  std::optional<Nanos> write_began_ ABSL_GUARDED_BY(mutex_);
  std::optional<Nanos> flush_at_ ABSL_GUARDED_BY(mutex_);    // time of flush_timer_
  std::shared_ptr<JobSends> sends_ ABSL_GUARDED_BY(mutex_);  // null before the job is open and after the end
  bool full_ ABSL_GUARDED_BY(mutex_) = false;                // as reported to sends_
  bool wanted_ ABSL_GUARDED_BY(mutex_) = false;              // others needed memory during this write
  bool wake_posted_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_STREAM_STREAM_SESSION_H_
