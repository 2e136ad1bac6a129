// The traces that are being taken: who is told of them, and what has come, until it is fetched. Memory alone: a
// coordinator that starts anew knows none. Pure: time and ids are passed in. Not thread-safe.
#ifndef PENSTOCK_SERVER_COORDINATOR_TRACE_TRACE_DESK_H_
#define PENSTOCK_SERVER_COORDINATOR_TRACE_TRACE_DESK_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/runtime/clock.h"
#include "penstock/v1/trace.pb.h"

namespace penstock {

// Whom a trace is of: those that serve and read the job when it begins. Others that come meanwhile take part too.
struct TraceParty {
  std::string process;  // id of the worker, or of the session
  bool worker = false;
  std::string version;
};

class TraceDesk {
 public:
  static constexpr uint32_t kMostSeconds = 60;
  static constexpr size_t kMostTraces = 4;
  // Of all processes together, in a trace; and of one.
  static constexpr size_t kMostEvents = size_t{1} << 20;
  static constexpr size_t kMostEventsOfOne = size_t{1} << 18;
  // Of what has come and was not fetched.
  static constexpr size_t kMostBytes = size_t{64} << 20;
  // Of one answer.
  static constexpr size_t kReplyBytes = size_t{4} << 20;
  // For what was recorded to come, before it counts as missing; and then to be fetched.
  static constexpr Nanos kGrace = 5 * kSecond;
  static constexpr Nanos kKept = 60 * kSecond;

  // Begins a trace with this id, another than any before: in `lead`, by when all have been told.
  //   InvalidArgument      not 1 to kMostSeconds
  //   ResourceExhausted    too many are being taken
  absl::StatusOr<v1::StartTraceReply> Start(uint64_t id, const v1::StartTraceRequest& request,
                                            const std::vector<TraceParty>& parties, Nanos lead, Nanos now);

  // What a process is told: every trace that is not over.
  void AddOrders(const std::string& process, Nanos now, google::protobuf::RepeatedPtrField<v1::TraceOrder>* orders);

  // From a process. NotFound: there is no such trace any more.
  absl::Status Put(v1::PutTraceRequest request, Nanos now);

  // For whoever asked for it. NotFound: there is no such trace any more.
  absl::StatusOr<v1::GetTraceReply> Get(const v1::GetTraceRequest& request, Nanos now);

 private:
  struct Party {
    bool worker = false;
    std::string version;
    bool told = false;     // was handed the order
    bool answers = false;  // has asked for the clock, or handed something in
    bool done = false;
  };
  struct Trace {
    std::string job;
    Nanos begin = 0, end = 0;
    uint32_t most_events = 0;
    std::map<std::string, Party> parties;
    std::deque<v1::TracePart> parts;
    size_t bytes = 0;
    uint64_t refused = 0;
  };

  void Forget(Nanos now);
  absl::StatusOr<Trace*> Find(uint64_t id);

  std::map<uint64_t, Trace> traces_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_TRACE_TRACE_DESK_H_
