// The worker's end of a stream over several connections.
#ifndef PENSTOCK_TRANSPORT_LANES_LANED_SERVER_H_
#define PENSTOCK_TRANSPORT_LANES_LANED_SERVER_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "base/runtime/executor.h"
#include "transport/lanes/lane.h"
#include "transport/message_stream.h"
#include "transport/ownership.h"
#include "transport/peer.h"

namespace penstock::transport {

struct LaneOptions {
  size_t most = 4;   // maximum lanes of a stream, up to kMostLanes; 1 disables further lanes, whatever clients offer
  bool all = false;  // use each lane as soon as it is ready, without LaneChoice
  OwnershipRule may_act = MayActFor;  // decides which calls may join a stream
  Nanos close_grace = 2 * kSecond;    // how long Close waits for messages that are being written
  // Maximum messages that the worker sends after one that is still being written on another lane. A client reads its
  // lanes in turns, so only one that leaves a lane unread reaches it. Then the whole stream waits for that lane.
  uint64_t ahead = 256;
  OnRejectedPeer on_rejected = nullptr;
};

class LanedServer;

// Assigns each call to a stream, and passes each new stream to a StreamAcceptor. Thread-safe.
class LaneAcceptor {
 public:
  // `streams` and `executor` must outlive this object, and this object must outlive the streams.
  LaneAcceptor(StreamAcceptor* streams, Executor* executor, const LaneOptions& options)
      : streams_(streams), executor_(executor), options_(options) {}

  // Accepts a client's call. Closes it if it may not join its stream, or if the name of its new stream is in use.
  // `call` holds the call's lane metadata; it is nullopt for a client that does not support lanes. Otherwise as
  // StreamAcceptor::Accept.
  std::shared_ptr<StreamEvents> Accept(std::shared_ptr<MessageStream> stream, const std::optional<LaneCall>& call);

 private:
  friend class LanedServer;
  void Forget(const std::string& name);

  StreamAcceptor* const streams_;
  Executor* const executor_;
  const LaneOptions options_;
  Mutex mutex_;
  std::map<std::string, std::weak_ptr<LanedServer>> by_name_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_LANES_LANED_SERVER_H_
