// The worker's side of streams through shared memory: a socket for clients of this host.
#ifndef PENSTOCK_TRANSPORT_SHARED_MEMORY_LISTENER_H_
#define PENSTOCK_TRANSPORT_SHARED_MEMORY_LISTENER_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/runtime/executor.h"
#include "base/shared_row_files.h"
#include "transport/message_stream.h"
#include "transport/peer.h"

namespace penstock::transport {

struct SharedMemoryListenerOptions {
  std::string dir;                                        // folder of the socket; PrepareSocketDir succeeded
  std::string worker;                                     // worker id; no other running worker has it
  uint64_t ring_bytes = uint64_t{32} << 20;               // ring size of a stream, while rings_bytes allows
  uint64_t rings_bytes = uint64_t{512} << 20;             // total size of all rings; further streams use their sockets
  std::shared_ptr<const SharedRowFiles> files = nullptr;  // bytes of these files are sent without a copy; null: none
  // Returns true for users to serve. Unset: this process's user and root.
  std::function<bool(uid_t)> serves;
  AdmitPeer admit = nullptr;  // decides about each process of a served user
};

// Accepts streams of the served users that `admit` accepts, and closes other connections without sending a packet.
// Thread-safe.
class SharedMemoryListener {
 public:
  // Starts listening. `acceptor` and `executor` must outlive the listener. `executor` runs the timers for closing.
  // Errors name the path or the system call.
  static absl::StatusOr<std::unique_ptr<SharedMemoryListener>> Start(const SharedMemoryListenerOptions& options,
                                                                     StreamAcceptor* acceptor, Executor* executor);
  // Calls Stop.
  virtual ~SharedMemoryListener() = default;

  // Returns the total size of the existing rings, which is the memory that they may occupy.
  virtual uint64_t rings_bytes() const = 0;
  // Returns the value for WorkerAddress::local.
  virtual std::string local_address() const = 0;
  // Stops accepting streams and removes the socket's file. Open streams stay open.
  virtual void StopListening() = 0;
  // Calls StopListening and ends all streams. All their events have run when it returns.
  virtual void Stop() = 0;
};

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_SHARED_MEMORY_LISTENER_H_
