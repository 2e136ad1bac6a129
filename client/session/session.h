// A running session: the delivery core with its threads, streams and memory around it.
//
//   worker stream (gRPC's threads) -> copy pool: claim slots, copy rows into them, seal full batches -> Next
//   control thread: carries out the core's commands, ticks it, watches the job's view, reports progress
//
// One lock guards the core. It is held for bookkeeping only: never while rows are copied, memory is allocated, or
// anything is sent.
#ifndef PENSTOCK_CLIENT_SESSION_SESSION_H_
#define PENSTOCK_CLIENT_SESSION_SESSION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "client/assembly/batch_builder.h"
#include "client/delivery/delivery_tracker.h"
#include "client/session/copy_pool.h"
#include "client/session/job_info.h"
#include "client/transport/coordinator_client.h"
#include "client/transport/worker_stream.h"
#include "net/job_mirror.h"
#include "penstock/batch.h"
#include "penstock/stats.h"

namespace penstock {

struct SessionOptions {
  uint32_t rank = 0;
  Cursor start;
  uint64_t epochs = 1;
  uint64_t window_steps = 16;
  int copy_threads = 1;
  size_t max_free_bytes = 0;  // of batch memory kept for later batches
  Allocator* allocator = nullptr;
  // As sent to the coordinator; sent again when it has forgotten the session.
  v1::OpenSessionRequest open;
  std::string session_id;
  JobMirror watched;  // the job as the coordinator told of it
};

class Session final : public StreamEvents, public std::enable_shared_from_this<Session> {
 public:
  // Begins to fetch once Start is called.
  Session(JobInfo job, const Steps& steps, SessionOptions options, std::shared_ptr<CoordinatorClient> coordinator,
          std::unique_ptr<Transport> transport, Clock* clock);
  ~Session() override;

  void Start(std::shared_ptr<const View> view);
  // Ends everything; no thread of this session runs afterwards. Within a second.
  void Stop();

  // As Reader says it.
  absl::StatusOr<Batch> Next(absl::Duration timeout);
  void Cancel();
  Cursor cursor() const;
  ReaderStats Stats() const;

 private:
  // A step of the window and its memory.
  struct Booked {
    StepSpan span;
    SlotRange slice;
    std::shared_ptr<BatchBuilder> builder;
    std::vector<uint8_t> valid;
    std::vector<uint64_t> source;  // of each row: the record whose content it holds; kOwnRecord: its own
    bool sealed = false;
    absl::Status status;  // of sealing
  };
  static constexpr uint64_t kOwnRecord = UINT64_MAX;
  struct Claimed {
    DeliveryTracker::Slot slot;
    std::shared_ptr<Booked> step;
  };

  // Streams (session_receive.cc).
  void OnMessage(uint64_t stream, grpc::ByteBuffer message) override;
  void OnClosed(uint64_t stream, const absl::Status& status) override;
  void Receive(uint64_t stream, const grpc::ByteBuffer& message);
  absl::Status ReceiveRows(uint64_t stream, const v1::Rows& rows, SliceCursor payload);
  void CountBadRows(const v1::Rows& rows);
  void Seal(uint64_t ordinal, const std::shared_ptr<Booked>& step);
  // The stream's worker sent what it must not: the stream ends.
  void BreakStream(uint64_t stream, const absl::Status& why);

  // The control thread (session_control.cc).
  void Control();
  void CarryOut(std::vector<Command> commands);
  void Book(const BookStep& step);
  void Send(uint64_t stream, v1::ClientMessage message);
  // Calls to the coordinator that are due. NextCall: when the next one is.
  void Coordinate(Nanos now);
  Nanos NextCall() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartWatch();
  v1::ReportSessionRequest MakeReport(Nanos now);  // of what happened since the last one
  void StartReport(Nanos now);
  void StartReopen();
  void OnWatched(absl::StatusOr<v1::WatchReply> reply);
  void OnReported(const absl::StatusOr<v1::ReportSessionReply>& reply);
  void OnReopened(absl::StatusOr<v1::OpenSessionReply> reply);
  void TakeJob(const WatchedJob& job);

  void WakeControl() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether Next has something to return now: the head step (then `step` is set), or an error.
  bool Due(std::shared_ptr<Booked>* step, absl::Status* status) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const JobInfo job_;
  const Steps steps_;
  const SessionOptions options_;
  const std::shared_ptr<CoordinatorClient> coordinator_;
  const std::unique_ptr<Transport> transport_;
  Clock* const clock_;
  const std::shared_ptr<BatchMemory> memory_;
  CopyPool pool_;
  std::thread control_;

  mutable Mutex mutex_;
  CondVar ready_;         // for Next: the head may be ready, or the session has ended
  CondVar control_wake_;  // for the control thread
  CondVar streams_gone_;  // for Stop
  DeliveryTracker tracker_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, std::shared_ptr<Booked>> booked_ ABSL_GUARDED_BY(mutex_);  // by ordinal
  std::unordered_map<uint64_t, std::shared_ptr<WorkerStream>> streams_ ABSL_GUARDED_BY(mutex_);
  std::unordered_set<uint64_t> closed_early_ ABSL_GUARDED_BY(mutex_);  // before Open returned
  int open_streams_ ABSL_GUARDED_BY(mutex_) = 0;                       // OnClosed has not come
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool wake_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status job_gone_ ABSL_GUARDED_BY(mutex_);  // cancelled, replaced or failed: the next Next says so
  absl::Status fatal_ ABSL_GUARDED_BY(mutex_);     // no worker takes this session; what is there is handed out before

  // The coordinator.
  std::string session_id_ ABSL_GUARDED_BY(mutex_);
  JobMirror watched_ ABSL_GUARDED_BY(mutex_);
  bool watching_ ABSL_GUARDED_BY(mutex_) = false;
  bool reporting_ ABSL_GUARDED_BY(mutex_) = false;
  bool reopen_ ABSL_GUARDED_BY(mutex_) = false;  // the coordinator does not know the session any more
  Nanos next_watch_ ABSL_GUARDED_BY(mutex_) = 0;
  Nanos watch_backoff_ ABSL_GUARDED_BY(mutex_) = 0;
  Nanos next_report_ ABSL_GUARDED_BY(mutex_) = 0;
  Nanos last_report_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t reported_rows_ ABSL_GUARDED_BY(mutex_) = 0;
  Nanos reported_wait_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<uint64_t> bad_records_ ABSL_GUARDED_BY(mutex_);  // since the last report
  std::vector<uint64_t> unconfirmed_bad_
      ABSL_GUARDED_BY(mutex_);  // reported, without an answer yet; one report at a time
  Nanos waited_ ABSL_GUARDED_BY(mutex_) = 0;
  ReaderStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SESSION_SESSION_H_
