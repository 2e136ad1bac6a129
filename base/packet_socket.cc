#include "base/packet_socket.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace penstock {

absl::StatusOr<PacketSocket> PacketSocket::Create(OwnedFd fd) {
  int type = 0, family = 0;
  socklen_t size = sizeof(type);
  if (getsockopt(fd.get(), SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("descriptor ", fd.get(), " is no socket: ", strerror(errno)));
  }
  size = sizeof(family);
  if (getsockopt(fd.get(), SOL_SOCKET, SO_DOMAIN, &family, &size) != 0 || type != SOCK_SEQPACKET || family != AF_UNIX) {
    return absl::InvalidArgumentError(absl::StrCat("descriptor ", fd.get(), " is no SOCK_SEQPACKET socket of AF_UNIX"));
  }
  return PacketSocket(std::move(fd));
}

absl::StatusOr<std::optional<ReceivedPacket>> PacketSocket::Receive() const {
  ReceivedPacket packet;
  packet.bytes.resize(kMaxPacket);
  PS_ASSIGN_OR_RETURN(std::optional<Arrived> arrived, ReceiveInto(packet.bytes.data(), kMaxPacket));
  if (!arrived.has_value()) return std::nullopt;
  packet.bytes.resize(arrived->size);
  packet.fd = std::move(arrived->fd);
  return std::optional<ReceivedPacket>(std::move(packet));
}

absl::StatusOr<std::optional<PacketSocket::Arrived>> PacketSocket::ReceiveInto(char* buffer, size_t most) const {
  iovec piece{buffer, most};
  alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))];
  msghdr message{};
  ssize_t got = 0;
  bool reset = false;
  while (true) {
    message = msghdr{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    got = recvmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got >= 0) break;
    if (errno == EINTR) continue;
    // Reported once if the peer closed with unread packets. Its earlier packets can still be received.
    if (errno == ECONNRESET && !std::exchange(reset, true)) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::nullopt;
    if (errno == ECONNRESET) return absl::OutOfRangeError("closed by the other side");
    return ErrnoStatus(errno, "recvmsg");
  }
  std::vector<OwnedFd> fds;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      fds.emplace_back(fd);
    }
  }
  if (got == 0) return absl::OutOfRangeError("closed by the other side");
  if ((message.msg_flags & MSG_TRUNC) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("a packet of more than ", most, " bytes"));
  }
  if (fds.size() > 1 || (message.msg_flags & MSG_CTRUNC) != 0) {
    return absl::InvalidArgumentError("a packet with more than one descriptor");
  }
  Arrived arrived;
  arrived.size = static_cast<size_t>(got);
  if (!fds.empty()) arrived.fd = std::move(fds[0]);
  return std::optional<Arrived>(std::move(arrived));
}

absl::Status PacketSocket::Send(std::string_view packet, bool wait, int fd) const {
  iovec piece{const_cast<char*>(packet.data()), packet.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* const part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(part), &fd, sizeof(int));
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(fd_.get(), &message, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT));
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return absl::OkStatus();
  if (errno == EAGAIN || errno == EWOULDBLOCK) return absl::ResourceExhaustedError("the other side does not read");
  if (errno == EPIPE || errno == ECONNRESET) return absl::OutOfRangeError("closed by the other side");
  return ErrnoStatus(errno, "sendmsg");
}

void PacketSocket::Shutdown() const { shutdown(fd_.get(), SHUT_RDWR); }

}  // namespace penstock
