// One end of a SOCK_SEQPACKET connection: whole packets, and file descriptors with them.
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
  OwnedFd fd;  // that came with it
};

// Thread-safe but for its end: packets sent at one time by several threads come whole, one after another.
class PacketSocket {
 public:
  static constexpr size_t kMaxPacket = 131072;  // docs/feed.md

  // Takes over `fd`. InvalidArgument when it is no SEQPACKET socket of the Unix family.
  static absl::StatusOr<PacketSocket> Create(OwnedFd fd);

  int fd() const { return fd_.get(); }

  // What has come, without waiting:
  //   a packet    an empty one is none
  //   nullopt     nothing has come
  //   OutOfRange  the other side has closed it
  //   others      the packet is longer than kMaxPacket, has more than one descriptor, or the system's error
  absl::StatusOr<std::optional<ReceivedPacket>> Receive() const;

  // The same into memory of the caller's: a packet of `size` bytes, at most `most` of them. Longer ones are
  // InvalidArgument.
  struct Arrived {
    size_t size = 0;
    OwnedFd fd;
  };
  absl::StatusOr<std::optional<Arrived>> ReceiveInto(char* buffer, size_t most) const;

  // Sends, with a copy of `fd` unless that is -1.
  //   OK
  //   ResourceExhausted  the other side does not read (with `wait` it is waited for instead, until Shutdown)
  //   OutOfRange         the other side has closed it
  absl::Status Send(std::string_view packet, bool wait, int fd = -1) const;

  // Ends a Send that waits, and all later ones. Any thread.
  void Shutdown() const;

 private:
  explicit PacketSocket(OwnedFd fd) : fd_(std::move(fd)) {}
  OwnedFd fd_;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_PACKET_SOCKET_H_
