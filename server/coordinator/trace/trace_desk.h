// The running traces: their processes, and their recorded parts until a client fetches them. A restart of the
// coordinator loses them. Pure: callers pass the time, ids and peers. Not thread-safe.
#ifndef PENSTOCK_SERVER_COORDINATOR_TRACE_TRACE_DESK_H_
#define PENSTOCK_SERVER_COORDINATOR_TRACE_TRACE_DESK_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/runtime/clock.h"
#include "penstock/v1/trace.pb.h"
#include "transport/ownership.h"
#include "transport/peer.h"

namespace penstock::coordinator {

// A process that serves or reads the job when the trace begins. Processes that join later take part too.
struct TraceParty {
  std::string process;  // id of the worker, or label of the session (net/session_label.h)
  bool worker = false;
  std::string version;
};

class TraceDesk {
 public:
  static constexpr uint32_t kMostSeconds = 60;
  static constexpr size_t kMostTraces = 4;
  // Limit of the events of a trace, divided equally among its first processes, and limit of one process. A process may
  // always record 4096.
  static constexpr size_t kMostEvents = size_t{1} << 20;
  static constexpr size_t kMostEventsOfOne = size_t{1} << 18;
  // Limit of the bytes of one trace that are received and not yet fetched.
  static constexpr size_t kMostBytes = size_t{64} << 20;
  // A reply of at least this size takes no further part.
  static constexpr size_t kReplyBytes = size_t{4} << 20;
  // Time for recorded parts to arrive before their process counts as missing, and then for the trace to be fetched.
  static constexpr Nanos kGrace = 5 * kSecond;
  static constexpr Nanos kKept = 60 * kSecond;

  explicit TraceDesk(transport::OwnershipRule may_act = transport::MayActFor) : may_act_(std::move(may_act)) {}

  // Starts a trace that `caller` owns. `id` must be unique. The recording begins after `lead`, which must be long
  // enough for all processes to receive the order.
  //   InvalidArgument      the length is not 1 to kMostSeconds
  //   AlreadyExists        a trace of this job, or of one of these processes, is running
  //   ResourceExhausted    there are too many traces
  absl::StatusOr<v1::StartTraceReply> Start(uint64_t id, const v1::StartTraceRequest& request,
                                            const transport::Peer& caller, const std::vector<TraceParty>& parties,
                                            Nanos lead, Nanos now);

  // Adds an order for each trace that has not ended. `orders` belongs to a reply to `process`.
  void AddOrders(const std::string& process, Nanos now, google::protobuf::RepeatedPtrField<v1::TraceOrder>* orders);

  // Adds a part from a process. A request without a part only reads the clock: both times in the reply are `now`. Drops
  // and counts a part that exceeds kMostBytes. Returns the error of the rule, NotFound if there is no such trace, for
  // example after it was fetched, or ResourceExhausted if too many processes joined the trace.
  absl::StatusOr<v1::PutTraceReply> Put(const v1::PutTraceRequest& request, const transport::Peer& caller, Nanos now);

  // Returns parts for the program that started the trace. The reply that completes the trace names the missing
  // processes and removes the trace. Returns the error of the rule, or NotFound if there is no such trace.
  absl::StatusOr<v1::GetTraceReply> Get(const v1::GetTraceRequest& request, const transport::Peer& caller, Nanos now);

 private:
  struct Party {
    bool worker = false;
    std::string version;
    bool told = false;     // has received the order
    bool answers = false;  // has requested the clock, or sent a part
    bool done = false;
  };
  struct Trace {
    transport::Peer owner;  // the program that started the trace
    std::string job;
    Nanos begin = 0, end = 0;
    uint32_t most_events = 0;
    std::map<std::string, Party> parties;
    std::deque<v1::TracePart> parts;
    size_t bytes = 0;
    uint64_t refused = 0;
  };

  static bool AllDone(const Trace& trace);
  void Forget(Nanos now);
  // Returns the trace if the rule accepts that `caller` acts for it.
  absl::StatusOr<Trace*> ActFor(uint64_t id, transport::Act act, const transport::Peer& caller);

  const transport::OwnershipRule may_act_;
  std::map<uint64_t, Trace> traces_;
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_TRACE_TRACE_DESK_H_
