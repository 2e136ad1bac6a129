// Streams inside one process: for `penstockd standalone`, for a loader beside its trainer, and for tests. Nothing is
// serialized or copied: the slices that one end writes are those that the other end reads.
#ifndef PENSTOCK_TRANSPORT_IN_PROCESS_H_
#define PENSTOCK_TRANSPORT_IN_PROCESS_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/runtime/executor.h"
#include "transport/message_stream.h"

namespace penstock {

// Thread-safe.
class InProcessTransport final : public Transport {
 public:
  // Events run on `executor`, one after another for each end; it outlives the streams. A stream takes writes until the
  // reader is `window_bytes` behind.
  explicit InProcessTransport(Executor* executor, size_t window_bytes = size_t{4} << 20)
      : executor_(executor), window_bytes_(window_bytes) {}

  // From now on streams to `address` go to `acceptor`, which outlives them, until StopListening.
  void Listen(const std::string& address, StreamAcceptor* acceptor);
  // Streams that are open stay open.
  void StopListening(const std::string& address);

  // Nobody listening there: OnClosed with Unavailable, which names the address (WorkerAddress::network).
  std::shared_ptr<MessageStream> Connect(const WorkerAddress& worker, std::shared_ptr<StreamEvents> events) override;

 private:
  Executor* const executor_;
  const size_t window_bytes_;
  Mutex mutex_;
  std::map<std::string, StreamAcceptor*> acceptors_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_IN_PROCESS_H_
