#include "net/front_door/front_door.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/host_key.h"
#include "base/open_files.h"
#include "base/runtime/threads.h"
#include "base/status_macros.h"

namespace penstock::net {
namespace {

constexpr Nanos kBlocked = 5 * kSecond, kBlockedSender = kSecond;
constexpr int kPauseMs = 100;              // after the process has run out of descriptors
constexpr int kLookMs = 100;               // between two looks at the memory
constexpr uint64_t kManyBytes = 64 << 10;  // A caller sends less between two looks, except for indexes
constexpr int kAcceptsAtOnce = 64;         // so that a flood at one address does not delay the others

// Returns an identity of the socket, or 0 if `fd` is none.
uint64_t SocketOf(int fd) {
  struct stat about = {};
  return fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode) ? about.st_ino : 0;
}

// Shuts a connection down, if it is still open. A copy of the descriptor keeps its socket, so that gRPC cannot close it
// between the check and the shutdown.
void ShutDown(const ConnectionTable::Connection& connection) {
  const OwnedFd copy(fcntl(connection.fd, F_DUPFD_CLOEXEC, 0));
  if (copy && SocketOf(copy.get()) == connection.socket) shutdown(copy.get(), SHUT_RDWR);
}

uint64_t ReceivedBy(const ConnectionTable::Connection& connection) {
  tcp_info info = {};
  socklen_t bytes = sizeof info;
  if (SocketOf(connection.fd) != connection.socket) return 0;
  return getsockopt(connection.fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 ? info.tcpi_bytes_received : 0;
}

bool IsOpen(const ConnectionTable::Connection& connection) { return SocketOf(connection.fd) == connection.socket; }

std::string HostOf(const sockaddr_storage& address) {
  std::array<char, NI_MAXHOST> text = {};
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), sizeof address, text.data(), text.size(), nullptr, 0,
                  NI_NUMERICHOST) != 0) {
    return "unknown";
  }
  return HostKey(text.data());
}

bool IsWildcard(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

// Errors of accept that concern only the connection, which the other side has closed.
bool ConcernsConnection(int error) {
  switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
    case EPERM:
      return true;
    default:
      return false;
  }
}

ConnectionLimits Completed(ConnectionLimits limits) {
  if (limits.total == 0) limits.total = static_cast<uint32_t>(OpenFileLimit() * 3 / 4);
  return limits;
}

}  // namespace

FrontDoor::FrontDoor(FrontDoorOptions options)
    : options_(std::move(options)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), table_(Completed(options_.limits)) {}

absl::StatusOr<std::unique_ptr<FrontDoor>> FrontDoor::Listen(const Address& address, FrontDoorOptions options) {
  std::unique_ptr<FrontDoor> door(new FrontDoor(std::move(options)));
  absl::Status bound = door->wake_ ? door->Bind(address) : absl::UnavailableError(std::strerror(errno));
  if (!bound.ok()) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address.ToString(), ": ",
                                               std::string(bound.message()),
                                               "; choose another address, or port 0 for any free port"));
  }
  return door;
}

absl::Status FrontDoor::BindOne(int family, const void* address, uint32_t bytes) {
  sockaddr_storage to = {};
  std::memcpy(&to, address, bytes);
  in_port_t& port = family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&to)->sin6_port
                                       : reinterpret_cast<sockaddr_in*>(&to)->sin_port;
  if (port_ != 0) port = htons(port_);  // the port that the first address got
  OwnedFd listener(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1, off = 0, timeout_ms = static_cast<int>(options_.acknowledged_within.count());
  // Connections inherit the options.
  bool done = static_cast<bool>(listener);
  done = done && setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0;
  done = done && setsockopt(listener.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0;
  done = done && setsockopt(listener.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof timeout_ms) == 0;
  if (family == AF_INET6) {
    const int only = IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<sockaddr_in6*>(&to)->sin6_addr) ? off : on;
    done = done && setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only) == 0;
  }
  socklen_t length = bytes;
  done = done && bind(listener.get(), reinterpret_cast<const sockaddr*>(&to), length) == 0;
  done = done && listen(listener.get(), SOMAXCONN) == 0;
  done = done && getsockname(listener.get(), reinterpret_cast<sockaddr*>(&to), &length) == 0;
  if (!done) {
    const int error = errno;
    const std::string why = error == EADDRINUSE ? "another process listens there already" : std::strerror(error);
    // A host without IPv6 has such names and addresses too.
    return error == EAFNOSUPPORT || error == EADDRNOTAVAIL ? absl::NotFoundError(why) : absl::UnavailableError(why);
  }
  port_ = ntohs(port);
  listeners_.push_back(std::move(listener));
  return absl::OkStatus();
}

absl::Status FrontDoor::Bind(const Address& address) {
  if (IsWildcard(address.host)) {
    sockaddr_in6 any = {};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(address.port);
    absl::Status both = BindOne(AF_INET6, &any, sizeof any);
    if (!absl::IsNotFound(both)) return both;
  }
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int looked = getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
  if (looked != 0) return absl::UnavailableError(gai_strerror(looked));
  const absl::Cleanup free = [list] { freeaddrinfo(list); };
  absl::Status missing = absl::UnavailableError("it has no address");
  std::set<std::string> seen;  // a host without IPv6 may get 127.0.0.1 twice for "localhost"
  for (const addrinfo* info = list; info != nullptr; info = info->ai_next) {
    if (!seen.emplace(reinterpret_cast<const char*>(info->ai_addr), info->ai_addrlen).second) continue;
    absl::Status bound = BindOne(info->ai_family, info->ai_addr, info->ai_addrlen);
    if (absl::IsNotFound(bound)) {
      missing = std::move(bound);
    } else {
      PS_RETURN_IF_ERROR(bound);
    }
  }
  return listeners_.empty() ? missing : absl::OkStatus();
}

absl::Status FrontDoor::Open(std::function<void(int fd)> accept) {
  PS_ASSIGN_OR_RETURN(thread_, StartThread("ps-door", [this, accept = std::move(accept)] { Run(accept); }));
  return absl::OkStatus();
}

FrontDoor::~FrontDoor() {
  stop_ = true;
  eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

void FrontDoor::Run(const std::function<void(int fd)>& accept) {
  std::vector<pollfd> waits = {{wake_.get(), POLLIN, 0}};
  for (const OwnedFd& listener : listeners_) waits.push_back({listener.get(), POLLIN, 0});
  bool full = false;
  Nanos next_look = 0;
  for (;;) {
    // While the process has no descriptors, only the end of the door wakes it early.
    poll(waits.data(), full ? 1 : waits.size(), full ? kPauseMs : options_.short_of_memory != nullptr ? kLookMs : -1);
    if (stop_) return;
    if (const Nanos now = Clock::Real()->Now(); options_.short_of_memory != nullptr && now >= next_look) {
      next_look = now + kLookMs * kMillisecond;
      CloseLargestSender();
    }
    full = false;
    for (size_t i = 1; i < waits.size() && !full; ++i) full = !AcceptFrom(waits[i].fd, accept);
  }
}

bool FrontDoor::AcceptFrom(int listener, const std::function<void(int fd)>& accept) {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    sockaddr_storage from = {};
    socklen_t bytes = sizeof from;
    OwnedFd fd(accept4(listener, reinterpret_cast<sockaddr*>(&from), &bytes, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) {
      if (ConcernsConnection(errno)) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
      const std::string why = absl::StrCat("cannot accept: ", std::strerror(errno));
      if (options_.on_rejected != nullptr) options_.on_rejected("unknown", why);
      return false;
    }
    const std::string host = HostOf(from);
    std::string why;
    {
      MutexLock lock(&mutex_);
      why = table_.Admit(host, Clock::Real()->Now(), IsOpen);
      if (why.empty()) table_.Add({fd.get(), SocketOf(fd.get())}, host);
    }
    if (!why.empty()) {
      if (options_.on_rejected != nullptr) options_.on_rejected(host, why);
      continue;
    }
    accept(fd.Release());
  }
  return true;
}

void FrontDoor::Disconnect(const std::string& host) {
  MutexLock lock(&mutex_);
  for (const ConnectionTable::Connection& connection : table_.Of(host)) ShutDown(connection);
  table_.Block(host, Clock::Real()->Now() + kBlocked);
}

void FrontDoor::CloseLargestSender() {
  const bool is_short = options_.short_of_memory();
  std::optional<ConnectionTable::Sender> sender;
  {
    MutexLock lock(&mutex_);
    if (!is_short) return table_.ForgetReceived();
    sender = table_.LargestSender(ReceivedBy);
  }
  if (!sender || sender->bytes < kManyBytes) return;
  ShutDown(sender->connection);
  {
    MutexLock lock(&mutex_);
    table_.Block(sender->host, Clock::Real()->Now() + kBlockedSender);
  }
  if (options_.on_rejected == nullptr) return;
  options_.on_rejected(sender->host, absl::StrCat(sender->host, " sent ", sender->bytes,
                                                  " bytes within a tenth of a second while the process had more "
                                                  "memory than limits.memory_bytes allows"));
}

}  // namespace penstock::net
