// Finds the sockets of workers on the same host, and checks the identity of the process at the other end.
#ifndef PENSTOCK_TRANSPORT_SHARED_MEMORY_LOCAL_ADDRESS_H_
#define PENSTOCK_TRANSPORT_SHARED_MEMORY_LOCAL_ADDRESS_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/owned_fd.h"
#include "transport/peer.h"

namespace penstock::transport {

// A worker's local address, as registered: BOOT_ID:WORKER:PATH.
struct LocalAddress {
  std::string boot;    // boot id of the host's running system: another id means another host
  std::string worker;  // worker id, without colons
  std::string path;    // absolute path of its socket

  std::string ToString() const;
  // Returns nullopt if `text` is not a local address.
  static std::optional<LocalAddress> Parse(const std::string& text);
};

// Returns the boot id of the running system, or "" if it cannot be read.
std::string BootId();

// Returns the default folder of the workers' sockets, the first of: $RUNTIME_DIRECTORY if set (by systemd),
// $XDG_RUNTIME_DIR/penstock if set, /run/penstock for root, /tmp/penstock-UID.
std::string DefaultSocketDir();

// The users whose processes may connect to a worker's socket, besides the worker's own user and root.
struct SocketUsers {
  enum Kind { kNone, kGroup, kAny };
  Kind kind = kNone;
  gid_t group = 0;  // for kGroup
};

// Creates the folder, accessible to `users` only, if it does not exist. Makes an existing folder of this user
// accessible to them. Its parent folder must exist. Returns FailedPrecondition with the folder and the reason unless
// `dir` is absolute, is a folder and not a link, belongs to this user or root, and is writable to its owner only.
// Errors of the system name the folder.
absl::Status PrepareSocketDir(const std::string& dir, const SocketUsers& users = {});

// Returns a socket that listens at `path`, and to which `users` can connect. Replaces any file at `path`. The
// replacement is atomic and happens after listen() succeeds. Until then the socket's name is PATH.PID.new, which must
// fit into a socket's address: a path to listen at is shorter than the longest path for ConnectTo. Returns
// InvalidArgument if it does not fit. Errors name the path, except the error of socket().
absl::StatusOr<OwnedFd> ListenAt(const std::string& path, const SocketUsers& users = {});
// Removes the sockets NAME.sock in `dir` on which no process listens: those of killed workers. Other files stay.
void RemoveDeadSockets(const std::string& dir);

// Connects without blocking. Returns ResourceExhausted if the listening process has not accepted earlier connections
// yet, PermissionDenied if the system forbids it, InvalidArgument for a path that is too long, Unavailable if no
// process listens there, and the errors of socket().
absl::StatusOr<OwnedFd> ConnectTo(const std::string& path);

// Sets the socket's send buffer to 1 MiB, as far as the system allows, for messages that go through the socket.
void GrowBuffer(const OwnedFd& socket);

// Returns the process at the other end, as the kernel reports it, or nullopt.
std::optional<Peer> PeerOf(const OwnedFd& socket);

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_SHARED_MEMORY_LOCAL_ADDRESS_H_
