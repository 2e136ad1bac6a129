// How processes of one host find a worker's socket, and whom they take for what they say they are.
#ifndef PENSTOCK_TRANSPORT_SHARED_MEMORY_LOCAL_ADDRESS_H_
#define PENSTOCK_TRANSPORT_SHARED_MEMORY_LOCAL_ADDRESS_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/owned_fd.h"

namespace penstock {

// As workers register it: BOOT_ID:WORKER:PATH.
struct LocalAddress {
  std::string boot;    // of the host's running system: another one is another host
  std::string worker;  // its id, without colons
  std::string path;    // of its socket, absolute

  std::string ToString() const;
  // Nothing where it is none.
  static std::optional<LocalAddress> Parse(const std::string& text);
};

// Of the running system; empty where it cannot be read.
std::string BootId();

// The folder of the workers' sockets, unless it is said: $RUNTIME_DIRECTORY (systemd's), $XDG_RUNTIME_DIR/penstock,
// /run/penstock for root, else /tmp/penstock-UID.
std::string DefaultSocketDir();

// Makes the folder, for this user alone, where there is none. FailedPrecondition names it, and what is wrong: it must
// belong to this user or root, and nobody else may write there.
absl::Status PrepareSocketDir(const std::string& dir);

// A socket that listens at `path`, in the place of whatever was there: it appears there when it listens. Errors name
// the path.
absl::StatusOr<OwnedFd> ListenAt(const std::string& path);
// Removes the sockets of that folder where nobody listens any more: of workers that were killed.
void RemoveDeadSockets(const std::string& dir);

// Never waits. Unavailable: nobody is there, or cannot be reached now.
absl::StatusOr<OwnedFd> ConnectTo(const std::string& path);

// Of what is on its way, for messages that go through the socket; as much as the system allows.
void GrowBuffer(const OwnedFd& socket);

// Who is at the other end, as the kernel has it; nothing where it does not say.
std::optional<uid_t> PeerOf(const OwnedFd& socket);

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_SHARED_MEMORY_LOCAL_ADDRESS_H_
