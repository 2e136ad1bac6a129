#include "tests/support/cluster/silent_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace penstock::support {
namespace {

constexpr int kMostConnections = 64;
constexpr int kAnswerMs = 200;  // on one machine a connection opens at once or not at all

}  // namespace

SilentPort::SilentPort(Kind kind) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  PS_CHECK(listener >= 0);
  sockets_.push_back(listener);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof where;
  auto* const address = reinterpret_cast<sockaddr*>(&where);
  PS_CHECK(bind(listener, address, size) == 0);
  PS_CHECK(getsockname(listener, address, &size) == 0);
  address_ = absl::StrCat("127.0.0.1:", ntohs(where.sin_port));
  // The program accepts no connection. The kernel completes connections until the queue is full, and no process reads
  // them. After that it drops further connection requests.
  PS_CHECK(listen(listener, kind == Kind::kMute ? SOMAXCONN : 0) == 0);
  if (kind == Kind::kMute) return;
  for (int i = 0; i < kMostConnections; ++i) {
    const int filler = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    PS_CHECK(filler >= 0);
    sockets_.push_back(filler);
    if (connect(filler, address, size) == 0) continue;
    pollfd connected{filler, POLLOUT, 0};
    if (poll(&connected, 1, kAnswerMs) == 0) return;  // full
  }
  PS_CHECK(false);
}

SilentPort::~SilentPort() {
  for (const int socket : sockets_) close(socket);
}

}  // namespace penstock::support
