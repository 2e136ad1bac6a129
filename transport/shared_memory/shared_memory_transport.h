// The client's side: through shared memory where the worker is on this host and lets us, else by another carrier.
#ifndef PENSTOCK_TRANSPORT_SHARED_MEMORY_SHARED_MEMORY_TRANSPORT_H_
#define PENSTOCK_TRANSPORT_SHARED_MEMORY_SHARED_MEMORY_TRANSPORT_H_

#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/runtime/executor.h"
#include "transport/message_stream.h"
#include "transport/shared_memory/local_address.h"
#include "transport/shared_memory/poll_loop.h"

namespace penstock {

struct SharedMemoryTransportOptions {
  std::string boot = BootId();                   // of this host
  Nanos welcome_within = kSecond / 2;            // from connecting to the worker's word
  Nanos avoid_for = 30 * kSecond;                // a socket that said nothing in time
  uint64_t most_ring_bytes = uint64_t{1} << 30;  // of a stream: what a worker may have us map
};

// Nobody has to choose: where a worker names no socket of this host, where it cannot be reached, refuses us, is another
// than was asked for, gives a ring that is not to be trusted or says nothing in time, `otherwise` carries the stream,
// as if it had been asked at once. Thread-safe.
class SharedMemoryTransport final : public Transport {
 public:
  // `otherwise` and `timers` outlive this.
  SharedMemoryTransport(Transport* otherwise, Executor* timers, SharedMemoryTransportOptions options = {});
  // Ends the streams that are open.
  ~SharedMemoryTransport() override;

  std::shared_ptr<MessageStream> Connect(const WorkerAddress& worker, std::shared_ptr<StreamEvents> events) override;

 private:
  // Null where the system gives none.
  std::shared_ptr<PollLoop> Loop();

  Transport* const otherwise_;
  Executor* const timers_;
  const SharedMemoryTransportOptions options_;

  // What streams know that were not decided when it was learned.
  struct Avoided {
    Mutex mutex;
    std::map<std::string, Nanos> until ABSL_GUARDED_BY(mutex);  // by local address
  };
  const std::shared_ptr<Avoided> avoided_ = std::make_shared<Avoided>();
  Mutex mutex_;
  std::shared_ptr<PollLoop> loop_ ABSL_GUARDED_BY(mutex_);  // made when it is first needed
  friend class ChoosingStream;
};

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_SHARED_MEMORY_SHARED_MEMORY_TRANSPORT_H_
