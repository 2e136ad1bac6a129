// A process's part in a trace: told of it, it compares clocks with the coordinator, records for as long as is asked
// for, and hands in what it has.
//
//   Take(order) ─▶ 8 calls for the clock ─▶ Begin ... End ─▶ 8 more ─▶ the parts, one call after another
//
// A strand: no threads of its own, and nothing blocks. One trace at a time; what is asked for meanwhile is left out.
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

namespace penstock {

// Thread-safe. Let go of when its executor runs nothing of it any more; calls may end later.
class TraceTaker {
 public:
  using Done = std::function<void(absl::StatusOr<v1::PutTraceReply>)>;
  // Starts a call of Coordinator.PutTrace with a deadline of some seconds, and returns. `done` on any thread.
  using Put = std::function<void(const v1::PutTraceRequest&, Done done)>;

  // Calls for the clock, before and after.
  static constexpr int kExchanges = 8;
  // Of one message.
  static constexpr size_t kPartEvents = 16384;

  // `executor` outlives it. `like`: what parts say of this process, its id aside.
  TraceTaker(Executor* executor, std::shared_ptr<TraceRecorder> recorder, v1::TracePart like, Put put)
      : recorder_(std::move(recorder)), like_(std::move(like)), put_(std::move(put)), strand_(executor) {}
  ~TraceTaker() { mailbox_->Close(); }

  // Takes part, as `process` (and with streams of that session and of `sessions`), unless it has or does already.
  void Take(const v1::TraceOrder& order, const std::string& process, std::vector<std::string> sessions = {});
  // Ends what is under way, and takes part in nothing more. Calls that are under way may still end, without effect.
  void Stop();

 private:
  void Begin(const v1::TraceOrder& order) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  // `left` calls one after another, then `then`.
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
  uint64_t trace_ ABSL_GUARDED_BY(strand_) = 0;  // the last one
  v1::TracePart part_ ABSL_GUARDED_BY(strand_);  // like_, for this trace
  v1::TraceOrder order_ ABSL_GUARDED_BY(strand_);
  Nanos begin_ ABSL_GUARDED_BY(strand_) = 0, end_ ABSL_GUARDED_BY(strand_) = 0;
  ClockExchange clock_ ABSL_GUARDED_BY(strand_);
  TraceRecording recording_ ABSL_GUARDED_BY(strand_);
  std::deque<v1::PutTraceRequest> parts_ ABSL_GUARDED_BY(strand_);
  int failed_ ABSL_GUARDED_BY(strand_) = 0;  // calls, of the part that is under way
  StrandTimer timer_ ABSL_GUARDED_BY(strand_){&strand_};
};

}  // namespace penstock

#endif  // PENSTOCK_NET_TRACE_TRACE_TAKER_H_
