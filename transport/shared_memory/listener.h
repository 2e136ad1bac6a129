// The worker's side of streams through shared memory: a socket that accepts clients of this host.
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
#include "transport/shared_memory/local_address.h"

namespace penstock::transport {

struct SharedMemoryListenerOptions {
  std::string dir;     // folder of the socket, from PrepareSocketDir
  std::string worker;  // worker id, which no other running worker has
  // Size of a stream's ring. It is smaller if rings_bytes leaves less.
  uint64_t ring_bytes = uint64_t{32} << 20;
  // Limit of the total size of all rings. A stream for which less than 1 MiB is left sends its rows through the socket.
  uint64_t rings_bytes = uint64_t{512} << 20;
  // The worker sends bytes of these files without a copy. Null: no files.
  std::shared_ptr<const SharedRowFiles> files = nullptr;
  SocketUsers users = {};  // besides this process's user and root
  // Returns whether the listener serves a user. Unset: it serves `users`, this process's user and root.
  std::function<bool(uid_t)> serves = nullptr;
  // Returns whether a process must show a ticket, before the listener makes a ring for it. Unset: none must.
  std::function<bool(const Peer&)> needs_ticket = nullptr;
  // Decides whether a process of a served user may open a stream. Unset: it may.
  AdmitPeer admit = nullptr;
  // Called when the listener closes a connection that breaks a limit, or that sends something else than a ticket.
  OnRejectedPeer on_rejected = nullptr;
  // Limits for each user but this process's user and root.
  int user_streams = 64;
  uint64_t user_rings_bytes = uint64_t{128} << 20;
  // Limits of connections that must show a ticket, for every user.
  Nanos ticket_within = kSecond;  // time limit for a ticket to arrive
  size_t user_waiting = 16;       // connections of a user without a ticket so far; a new one replaces the oldest
};

// Accepts streams from processes that `serves` and `admit` permit. Closes all other connections without sending a
// packet. Thread-safe.
class SharedMemoryListener {
 public:
  // Starts listening. `acceptor` and `executor` must outlive the listener. `executor` runs timers: for streams that
  // close, for tickets, and for a pause if the system has no room for another connection. Errors name the path or the
  // system call.
  static absl::StatusOr<std::unique_ptr<SharedMemoryListener>> Start(const SharedMemoryListenerOptions& options,
                                                                     StreamAcceptor* acceptor, Executor* executor);
  // Calls Stop().
  virtual ~SharedMemoryListener() = default;

  // Returns the total size of the existing rings. Their pages occupy at most this much memory.
  virtual uint64_t rings_bytes() const = 0;
  // Returns the value for WorkerAddress::local.
  virtual std::string local_address() const = 0;
  // Removes the socket's file, unless another worker has replaced it, and stops accepting streams soon. Does not block.
  // Open streams stay open.
  virtual void StopListening() = 0;
  // Calls StopListening(), ends all streams, and returns when their events have run. Must not be called in such an
  // event.
  virtual void Stop() = 0;
};

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_SHARED_MEMORY_LISTENER_H_
