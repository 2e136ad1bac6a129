// One end of a SOCK_SEQPACKET pair: whole packets, and file descriptors with them.
#ifndef PENSTOCK_CLIENT_FEED_PACKET_SOCKET_H_
#define PENSTOCK_CLIENT_FEED_PACKET_SOCKET_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

// Closes what it holds.
class OwnedFd {
 public:
  explicit OwnedFd(int fd = -1) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  OwnedFd& operator=(OwnedFd&& other) noexcept;
  ~OwnedFd() { Reset(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void Reset();

 private:
  int fd_;
};

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

#endif  // PENSTOCK_CLIENT_FEED_PACKET_SOCKET_H_
