// The worker's side of streams through shared memory: a socket that clients of this host connect to.
#ifndef PENSTOCK_TRANSPORT_SHARED_MEMORY_LISTENER_H_
#define PENSTOCK_TRANSPORT_SHARED_MEMORY_LISTENER_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/lent_files.h"
#include "base/runtime/executor.h"
#include "transport/message_stream.h"

namespace penstock {

struct SharedMemoryListenerOptions {
  std::string dir;                                  // of the socket; PrepareSocketDir was asked
  std::string worker;                               // its id: no other worker that runs has it
  uint64_t ring_bytes = uint64_t{32} << 20;         // of each stream, while there are so many
  uint64_t rings_bytes = uint64_t{512} << 20;       // of all; what streams beyond it send goes through their sockets
  std::shared_ptr<const LentFiles> lent = nullptr;  // what lies in them is not copied to be sent; null: there are none
  // Whom to serve; unset: this process's user, and root.
  std::function<bool(uid_t)> serves;
};

// Thread-safe. Streams that anybody else opens are closed before a word was said.
class SharedMemoryListener {
 public:
  // `acceptor` and `executor`, which keeps the time of closing, outlive this. Errors name the path or the system call.
  static absl::StatusOr<std::unique_ptr<SharedMemoryListener>> Start(const SharedMemoryListenerOptions& options,
                                                                     StreamAcceptor* acceptor, Executor* executor);
  // Stop.
  virtual ~SharedMemoryListener() = default;

  // Of the rings there are: memory that they may hold.
  virtual uint64_t rings_bytes() const = 0;
  // For WorkerAddress::local.
  virtual std::string local_address() const = 0;
  // Nobody is accepted any more, and the socket's file is gone. Streams that are open stay open.
  virtual void StopListening() = 0;
  // And all streams are ended, when it returns; their events have come.
  virtual void Stop() = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_SHARED_MEMORY_LISTENER_H_
