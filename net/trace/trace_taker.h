// A process's part in a trace. On an order from the coordinator, the process compares its clock with the coordinator's,
// records for the ordered time, and uploads the recording.
//
//   Take(order) ─▶ 8 calls for the clock ─▶ Begin ... End ─▶ 8 more ─▶ the parts, one call after another
//
// Runs on a strand, and never blocks. Takes part in one trace at a time, and ignores other orders meanwhile.
#ifndef PENSTOCK_NET_TRACE_TRACE_TAKER_H_
#define PENSTOCK_NET_TRACE_TRACE_TAKER_H_

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/runtime/mailbox.h"
#include "base/runtime/strand.h"
#include "base/trace/trace_recorder.h"
#include "net/trace/clock_exchange.h"
#include "penstock/v1/trace.pb.h"

namespace penstock::net {

// Thread-safe. Destroy it only when the executor runs none of its tasks. Calls of `put` may end later.
class TraceTaker {
 public:
  using Done = std::function<void(absl::StatusOr<v1::PutTraceReply>)>;
  // Starts a call of Coordinator.PutTrace with a deadline of some seconds and returns. Must call `done` once, on any
  // thread.
  using Put = std::function<void(const v1::PutTraceRequest&, Done done)>;

  // Number of calls that compare the clocks, before the recording and again after it. The first failed call ends them.
  static constexpr int kExchanges = 8;
  // Maximum number of events of a message.
  static constexpr size_t kPartEvents = 16384;

  // `executor` must outlive this object. `like` holds the fields that are the same in all traces of this process.
  TraceTaker(Executor* executor, std::shared_ptr<TraceRecorder> recorder, v1::TracePart like, Put put)
      : recorder_(std::move(recorder)), like_(std::move(like)), put_(std::move(put)), strand_(executor) {}
  ~TraceTaker() { mailbox_->Close(); }

  // Takes part in the trace as `process`. Ignores the order during another trace, or if it repeats the last one. At
  // a trainer, `process` is the label of the current session. `sessions` are the labels under which its streams were
  // opened; `penstock trace` finds the streams by them.
  void Take(const v1::TraceOrder& order, const std::string& process, std::vector<std::string> sessions = {});
  // Ends the current trace and ignores further orders. Calls in flight may still end, without effect.
  void Stop();

 private:
  void Begin(const v1::TraceOrder& order) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  // Makes `left` calls in sequence, then runs `then`.
  void CompareClocks(int left, void (TraceTaker::*then)()) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void WaitForBegin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void Record() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void EndRecording() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void HandIn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void PutNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void SetTimer(Nanos when, void (TraceTaker::*step)()) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);

  const std::shared_ptr<TraceRecorder> recorder_;
  const v1::TracePart like_;
  const Put put_;
  Strand strand_;
  const std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>(&strand_);
  bool stopped_ ABSL_GUARDED_BY(strand_) = false;
  bool taking_ ABSL_GUARDED_BY(strand_) = false;
  uint64_t trace_ ABSL_GUARDED_BY(strand_) = 0;  // id of the last trace
  v1::TracePart part_ ABSL_GUARDED_BY(strand_);  // like_ with the fields of this trace
  v1::TraceOrder order_ ABSL_GUARDED_BY(strand_);
  Nanos begin_ ABSL_GUARDED_BY(strand_) = 0, end_ ABSL_GUARDED_BY(strand_) = 0;
  ClockExchange clock_ ABSL_GUARDED_BY(strand_);
  TraceRecording recording_ ABSL_GUARDED_BY(strand_);
  std::deque<v1::PutTraceRequest> parts_ ABSL_GUARDED_BY(strand_);
  int failed_ ABSL_GUARDED_BY(strand_) = 0;  // failed calls for the current part
  StrandTimer timer_ ABSL_GUARDED_BY(strand_){&strand_};
};

}  // namespace penstock::net

#endif  // PENSTOCK_NET_TRACE_TRACE_TAKER_H_
