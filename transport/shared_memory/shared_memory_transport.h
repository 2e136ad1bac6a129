// The client's side of the shared-memory carrier. Uses another carrier if the worker is on another host or does not
// serve this process.
#ifndef PENSTOCK_TRANSPORT_SHARED_MEMORY_SHARED_MEMORY_TRANSPORT_H_
#define PENSTOCK_TRANSPORT_SHARED_MEMORY_SHARED_MEMORY_TRANSPORT_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/runtime/executor.h"
#include "transport/message_stream.h"
#include "transport/shared_memory/local_address.h"
#include "transport/shared_memory/poll_loop.h"

namespace penstock::transport {

struct SharedMemoryTransportOptions {
  std::string boot = BootId();                   // boot id of this host
  Nanos welcome_within = kSecond / 2;            // time limit from connecting to the worker's WELCOME
  Nanos avoid_for = 30 * kSecond;                // how long to avoid a socket that sent no WELCOME in time
  uint64_t most_ring_bytes = uint64_t{1} << 30;  // largest ring that a worker may have this process map for a stream
};

// Chooses the carrier for each stream. `otherwise` carries the stream if the worker names no socket of this host, or
// cannot be reached there, rejects this process, has another id than requested, sends an invalid ring, or did not
// answer in time, now or within the last `avoid_for`. Only peer(), carrier() and carrier_note() show the choice.
// Thread-safe.
class SharedMemoryTransport final : public Transport {
 public:
  // `otherwise` and `timers` must outlive this object.
  SharedMemoryTransport(Transport* otherwise, Executor* timers, SharedMemoryTransportOptions options = {});
  // Ends the streams through shared memory, and those whose carrier is not chosen yet.
  ~SharedMemoryTransport() override;

  std::shared_ptr<MessageStream> Connect(const WorkerAddress& worker, std::shared_ptr<StreamEvents> events) override;

 private:
  // Returns null if the system cannot create the loop.
  std::shared_ptr<PollLoop> Loop();

  Transport* const otherwise_;
  Executor* const timers_;
  const SharedMemoryTransportOptions options_;

  // Sockets to avoid. Shared with the streams that are still choosing, which report to it.
  struct Avoided {
    Mutex mutex;
    std::map<std::string, Nanos> until ABSL_GUARDED_BY(mutex);  // by local address
  };
  const std::shared_ptr<Avoided> avoided_ = std::make_shared<Avoided>();
  Mutex mutex_;
  std::shared_ptr<PollLoop> loop_ ABSL_GUARDED_BY(mutex_);  // created on first use
  friend class ChoosingStream;
};

// Connects to a worker's socket as a stream without a ticket does, and closes the connection. Blocks for at most
// `within`.
//   kWelcome   streams of this process go through shared memory
//   kSilence   the worker sent nothing: it waits for a ticket, or hangs
// Otherwise returns the error for which streams use the other carrier.
enum class LocalAnswer { kWelcome, kSilence };
absl::StatusOr<LocalAnswer> ProbeLocally(const LocalAddress& local, Nanos within);

// Returns the carrier_note() of a stream that uses the other carrier because of `why`.
std::string WhyNotShared(const LocalAddress& local, const absl::Status& why);

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_SHARED_MEMORY_SHARED_MEMORY_TRANSPORT_H_
