// The worker's end of streams over several connections.
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

namespace penstock {

struct LaneOptions {
  size_t most = 4;   // lanes of a stream, at most kMostLanes; 1: none but the first, whatever clients offer
  bool all = false;  // each is used as soon as it is there, and not as LaneChoice finds
  Nanos close_grace = 2 * kSecond;  // from Close until lanes are broken off that a client does not read
};

class LanedServer;

// Makes one stream of the calls that belong together, and gives it to a StreamAcceptor. Thread-safe.
class LaneAcceptor {
 public:
  // Both outlive this, and this outlives the streams.
  LaneAcceptor(StreamAcceptor* streams, Executor* executor, const LaneOptions& options)
      : streams_(streams), executor_(executor), options_(options) {}

  // A client has made a call; `call`: what it says of lanes, nothing from a client that knows of none. As
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

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_LANES_LANED_SERVER_H_
