// The running collections of support files: their processes, and the received files until a client fetches them. A
// restart of the coordinator loses them. Pure: callers pass the time, ids and peers. Not thread-safe.
#ifndef PENSTOCK_SERVER_COORDINATOR_TRACE_SUPPORT_DESK_H_
#define PENSTOCK_SERVER_COORDINATOR_TRACE_SUPPORT_DESK_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/runtime/clock.h"
#include "penstock/v1/support.pb.h"
#include "transport/ownership.h"
#include "transport/peer.h"

namespace penstock::coordinator {

// A process whose files a collection asks for.
struct SupportParty {
  std::string id;    // a worker's id; "" is the coordinator
  std::string name;  // for display
  std::string lost;  // not "": why it will not answer
};

class SupportDesk {
 public:
  static constexpr size_t kMostRunning = 2;
  static constexpr size_t kMostBytesOfOne = size_t{8} << 20;
  // Limit of the bytes of one collection that are received and not yet fetched.
  static constexpr size_t kMostBytes = size_t{64} << 20;
  // A reply of at least this size takes no further part.
  static constexpr size_t kReplyBytes = size_t{4} << 20;
  // Time for the files to arrive, and then for the client to fetch them.
  static constexpr Nanos kWait = 15 * kSecond;
  static constexpr Nanos kKept = 30 * kSecond;

  explicit SupportDesk(transport::OwnershipRule may_act) : may_act_(std::move(may_act)) {}

  // Starts a collection that `caller` owns. `id` must be unique. Returns ResourceExhausted if too many run.
  absl::StatusOr<v1::StartSupportReply> Start(uint64_t id, const transport::Peer& caller,
                                              const std::vector<SupportParty>& parties, Nanos now);
  // Adds an order for each collection that waits for the worker.
  void AddOrders(const std::string& worker, Nanos now, google::protobuf::RepeatedPtrField<v1::SupportOrder>* orders);
  // Adds the files of a process. Ignores repeated files. Drops files that exceed a limit; Get names their process and
  // that reason. Returns NotFound if there is no such collection, or it does not ask the process.
  absl::StatusOr<v1::PutSupportReply> Put(const v1::PutSupportRequest& request, Nanos now);
  // Returns parts for the program that started the collection. The reply with `done` names the processes without files
  // and ends the collection. `beats` returns whether a worker still sends heartbeats. Returns the error of the rule, or
  // NotFound if there is no such collection.
  absl::StatusOr<v1::GetSupportReply> Get(const v1::GetSupportRequest& request, const transport::Peer& caller,
                                          absl::FunctionRef<bool(const std::string& worker)> beats, Nanos now);

 private:
  struct Party {
    std::string name, lost;
    bool told = false;  // has received the order
    bool done = false;
  };
  struct Collection {
    transport::Peer owner;
    Nanos end = 0;
    std::map<std::string, Party> parties;  // by id
    std::deque<v1::SupportPart> parts;
    size_t bytes = 0;
  };
  void Forget(Nanos now);

  const transport::OwnershipRule may_act_;
  std::map<uint64_t, Collection> collections_;
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_TRACE_SUPPORT_DESK_H_
