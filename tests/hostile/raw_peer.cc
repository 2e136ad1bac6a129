#include "tests/hostile/raw_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>

#include "base/check.h"

namespace penstock::hostile {
namespace {

constexpr timeval kPatience = {10, 0};

SSL_CTX* ClientContext() {
  static SSL_CTX* const context = [] {
    signal(SIGPIPE, SIG_IGN);  // OpenSSL writes without MSG_NOSIGNAL
    SSL_CTX* made = SSL_CTX_new(TLS_client_method());
    PS_CHECK(made != nullptr);
    const unsigned char h2[] = {2, 'h', '2'};
    PS_CHECK(SSL_CTX_set_alpn_protos(made, h2, sizeof h2) == 0);
    return made;
  }();
  return context;
}

}  // namespace

RawPeer::RawPeer(uint16_t port, Wire wire) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  PS_CHECK(fd_);
  setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  sockaddr_in from = {}, to = {};
  from.sin_family = to.sin_family = AF_INET;
  PS_CHECK(inet_pton(AF_INET, kAttacker, &from.sin_addr) == 1);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(port);
  const int on = 1;
  setsockopt(fd_.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  PS_CHECK(bind(fd_.get(), reinterpret_cast<sockaddr*>(&from), sizeof from) == 0);
  open_ = connect(fd_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  if (!open_ || wire == Wire::kPlain) return;
  ssl_.reset(SSL_new(ClientContext()));
  PS_CHECK(ssl_ != nullptr && SSL_set_fd(ssl_.get(), fd_.get()) == 1);
  open_ = SSL_connect(ssl_.get()) == 1;
}

bool RawPeer::Send(std::string_view bytes) {
  while (open_ && !bytes.empty()) {
    const ssize_t sent = ssl_ != nullptr ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                                         : send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    open_ = sent > 0;
    if (open_) bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return open_;
}

bool RawPeer::StaysOpen() {
  std::array<char, 16384> bytes;
  while (open_) {
    const ssize_t got = recv(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    open_ = got > 0;
  }
  return false;
}

}  // namespace penstock::hostile
