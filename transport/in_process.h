// Streams inside one process, for tests. Slices are neither serialized nor copied: the reader receives the slices that
// the writer wrote.
#ifndef PENSTOCK_TRANSPORT_IN_PROCESS_H_
#define PENSTOCK_TRANSPORT_IN_PROCESS_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/runtime/executor.h"
#include "transport/message_stream.h"

namespace penstock::transport {

// Connects streams by address inside this process. Thread-safe.
class InProcessTransport final : public Transport {
 public:
  // Runs events on `executor`, one at a time for each end. `executor` must outlive the streams. A stream accepts writes
  // while at most `window_bytes` are unread at the other end.
  explicit InProcessTransport(Executor* executor, size_t window_bytes = size_t{4} << 20)
      : executor_(executor), window_bytes_(window_bytes) {}

  // Routes new streams for `address` to `acceptor` until StopListening. `acceptor` must outlive the streams.
  void Listen(const std::string& address, StreamAcceptor* acceptor);
  // Stops routing new streams for `address`. Open streams stay open.
  void StopListening(const std::string& address);

  // If no acceptor listens at the address (WorkerAddress::network), calls OnClosed with Unavailable, which names the
  // address.
  std::shared_ptr<MessageStream> Connect(const WorkerAddress& worker, std::shared_ptr<StreamEvents> events) override;

 private:
  Executor* const executor_;
  const size_t window_bytes_;
  Mutex mutex_;
  std::map<std::string, StreamAcceptor*> acceptors_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_IN_PROCESS_H_
