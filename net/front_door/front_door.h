// The listening port of a gRPC server, with limits on the connections of each host. gRPC's own port has none, and never
// accepts again once the process has run out of descriptors.
#ifndef PENSTOCK_NET_FRONT_DOOR_FRONT_DOOR_H_
#define PENSTOCK_NET_FRONT_DOOR_FRONT_DOOR_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/owned_fd.h"
#include "net/address.h"
#include "net/front_door/connection_table.h"

namespace penstock::net {

// Called, unless it is unset, with the host of a rejected or closed connection (base/host_key.h) and the reason, on the
// door's thread. The host is "unknown" if the system accepts no connection.
using OnRejected = std::function<void(const std::string& host, const std::string& reason)>;

struct FrontDoorOptions {
  ConnectionLimits limits = {};
  OnRejected on_rejected = nullptr;
  // A connection is lost if its peer does not acknowledge sent bytes in this time.
  std::chrono::milliseconds acknowledged_within{3000};
  // Returns whether the process has less memory than it needs. gRPC 1.51 keeps all headers of a call, however many
  // frames of them arrive. The door calls this ten times a second on its thread. After two results of true in
  // succession, it closes the connection that sent the most between them, if that is at least 64 KiB, and rejects its
  // host for a second. Unset: never.
  std::function<bool()> short_of_memory = nullptr;
};

// Thread-safe.
class FrontDoor {
 public:
  // Binds all addresses of the host. "0.0.0.0" and "::" are all addresses of this host, of both families. Connections
  // wait until Open().
  //   Unavailable   the port is busy, or the address is unknown or not local; the message names cause and remedy
  static absl::StatusOr<std::unique_ptr<FrontDoor>> Listen(const Address& address, FrontDoorOptions options);
  // Stops accepting, and waits for a call of `accept` or `on_rejected` that is running. Accepted connections stay open.
  ~FrontDoor();

  uint16_t port() const { return port_; }

  // Starts a thread that passes each accepted connection to `accept`, which then owns the descriptor, a non-blocking
  // TCP socket. Must be called at most once. ResourceExhausted: the system refuses the thread.
  absl::Status Open(std::function<void(int fd)> accept);

  // Closes all connections of a host that the door has accepted, and rejects its connections for the next 5 s. Any
  // thread may call it.
  void Disconnect(const std::string& host);

 private:
  explicit FrontDoor(FrontDoorOptions options);

  absl::Status Bind(const Address& address);
  absl::Status BindOne(int family, const void* address, uint32_t bytes);
  void Run(const std::function<void(int fd)>& accept);
  // Closes the connection that sends the most, if the process lacks memory.
  void CloseLargestSender();
  // Accepts the waiting connections of `listener`. Returns false if the process has no descriptor left.
  bool AcceptFrom(int listener, const std::function<void(int fd)>& accept);

  const FrontDoorOptions options_;
  uint16_t port_ = 0;
  std::vector<OwnedFd> listeners_;
  OwnedFd wake_;
  std::atomic<bool> stop_{false};
  Mutex mutex_;
  ConnectionTable table_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace penstock::net

#endif  // PENSTOCK_NET_FRONT_DOOR_FRONT_DOOR_H_
