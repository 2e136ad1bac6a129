// One client's stream: messages in, rows out.
//
// What gRPC's and the loader's threads do here is short: they move rows and start writes. Everything that may take time
// (opening the job, working off grants) runs on the worker's executor, one message after another.
#ifndef PENSTOCK_SERVER_WORKER_STREAM_STREAM_SESSION_H_
#define PENSTOCK_SERVER_WORKER_STREAM_STREAM_SESSION_H_

#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "penstock/v1/data.pb.h"
#include "pipeline/loader/loader.h"
#include "server/worker/executor.h"
#include "server/worker/jobs/served_jobs.h"
#include "server/worker/stream/outbox.h"
#include "server/worker/stream/session_core.h"

namespace penstock {

// The stream as the session sees it. Each call starts something and returns; thread-safe. At most one read and one
// write are started at a time, and nothing after Finish.
class MessageStream {
 public:
  virtual ~MessageStream() = default;
  virtual void StartRead() = 0;                           // then OnMessage, or OnClosed at the end
  virtual void StartWrite(grpc::ByteBuffer message) = 0;  // then OnWriteDone
  virtual void Finish(absl::Status status) = 0;           // the session does not touch the stream afterwards
};

// What the sessions of a worker share. Outlives them.
struct SessionShared {
  std::string worker_id;
  Loader* loader = nullptr;
  ServedJobs* jobs = nullptr;
  WorkerThreads* executor = nullptr;
  Clock* clock = Clock::Real();
  uint32_t max_sessions = 256;
  SessionLimits limits;
  OutboxLimits outbox;
  Nanos job_wait = 2 * kSecond;   // for a job that the coordinator has not told this worker of yet
  size_t requested_rows = 16384;  // of grants, in the loader or waiting to be sent, for each session
  std::atomic<uint64_t> bytes_sent{0};
  std::atomic<uint32_t> open_sessions{0};
};

// Thread-safe. Kept alive by whoever has a message or a row for it; its loader session ends with the stream.
class StreamSession final : public RowSink, public std::enable_shared_from_this<StreamSession> {
 public:
  // `stream` lives until its Finish was called.
  StreamSession(SessionShared* shared, MessageStream* stream) : shared_(shared), stream_(stream) {}
  ~StreamSession() override;

  // From the stream.
  void OnMessage(v1::ClientMessage message);
  void OnWriteDone(bool ok);
  // The client has sent its last message, or is gone.
  void OnClosed();
  // The client sent what cannot be understood.
  void OnBroken(absl::Status status) { End(std::move(status)); }

  // Tells the client that this worker will leave.
  void SendDraining();

  // From the loader.
  void OnRow(RowResult row) override;
  size_t Revoke(size_t bytes) override;

 private:
  struct Open {
    std::shared_ptr<const LoadJob> job;
    std::unique_ptr<Loader::Session> rows;
    std::optional<SessionCore> core;
  };

  // On the executor.
  void Handle(v1::ClientMessage message, Nanos since);
  absl::Status HandleOpen(const v1::Open& open, Nanos since, bool* again) ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  absl::Status HandleOpened(const v1::ClientMessage& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  void Pump();
  void CloseRows();

  void PostPump();
  void Send(v1::ServerHeader header);
  // Starts the next write if there is one to be started.
  void Write();
  void ReadOn();
  void End(absl::Status status);
  // A call to the stream is over: whoever is last finishes the stream if it is to end.
  void LeaveStream();
  bool EnterStream() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  SessionShared* const shared_;

  // What takes time. Never held together with a call into the stream, and taken before mutex_.
  Mutex work_mutex_;
  Open open_ ABSL_GUARDED_BY(work_mutex_);
  bool rows_closed_ ABSL_GUARDED_BY(work_mutex_) = false;

  // What is short.
  Mutex mutex_;
  MessageStream* stream_ ABSL_GUARDED_BY(mutex_);  // null once finished
  std::optional<Outbox> outbox_ ABSL_GUARDED_BY(mutex_);
  uint64_t fixed_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<grpc::ByteBuffer> control_ ABSL_GUARDED_BY(mutex_);  // messages without rows: before all rows
  std::vector<RowRequest> revoked_ ABSL_GUARDED_BY(mutex_);       // to be asked for again
  size_t requested_ ABSL_GUARDED_BY(mutex_) = 0;                  // rows of grants asked for and not yet handed to gRPC
  size_t fetched_ ABSL_GUARDED_BY(mutex_) = 0;                    // the same of fetches
  bool pump_posted_ ABSL_GUARDED_BY(mutex_) = false;
  bool more_to_pump_ ABSL_GUARDED_BY(mutex_) = false;
  bool accepted_ ABSL_GUARDED_BY(mutex_) = false;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool write_in_flight_ ABSL_GUARDED_BY(mutex_) = false;
  bool timer_posted_ ABSL_GUARDED_BY(mutex_) = false;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;  // into the stream, in progress
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_STREAM_STREAM_SESSION_H_
