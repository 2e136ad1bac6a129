// One end of a SOCK_SEQPACKET connection: sends and receives whole packets with file descriptors.
#ifndef PENSTOCK_BASE_PACKET_SOCKET_H_
#define PENSTOCK_BASE_PACKET_SOCKET_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/owned_fd.h"

namespace penstock {

struct ReceivedPacket {
  std::string bytes;
  OwnedFd fd;  // descriptor that came with the packet; empty: none
};

// Thread-safe, except destruction. Packets that several threads send concurrently arrive whole, one after another.
class PacketSocket {
 public:
  static constexpr size_t kMaxPacket = 131072;  // docs/feed.md

  // Takes ownership of `fd`. Returns InvalidArgument if it is not a Unix SEQPACKET socket.
  static absl::StatusOr<PacketSocket> Create(OwnedFd fd);

  int fd() const { return fd_.get(); }

  // Receives without blocking.
  //   a packet    never an empty one
  //   nullopt     no packet has arrived
  //   OutOfRange  the peer has closed the connection, or sent an empty packet
  //   others      InvalidArgument if the packet is longer than kMaxPacket or has more than one descriptor; the system's
  //               error
  absl::StatusOr<std::optional<ReceivedPacket>> Receive() const;

  // As Receive, into the caller's buffer. Returns InvalidArgument for a packet of more than `most` bytes.
  struct Arrived {
    size_t size = 0;
    OwnedFd fd;
  };
  absl::StatusOr<std::optional<Arrived>> ReceiveInto(char* buffer, size_t most) const;

  // Sends a packet, which must not be empty, with a copy of `fd` unless it is -1.
  //   OK
  //   ResourceExhausted  the peer does not read; with `wait`, a blocking socket blocks until the peer reads or Shutdown
  //   OutOfRange         the peer has closed the connection, or Shutdown was called
  //   others             the system's error
  absl::Status Send(std::string_view packet, bool wait, int fd = -1) const;

  // Ends the connection. A blocked Send and all later ones fail. Packets that have arrived can still be received.
  void Shutdown() const;

 private:
  explicit PacketSocket(OwnedFd fd) : fd_(std::move(fd)) {}
  OwnedFd fd_;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_PACKET_SOCKET_H_
