// A connection whose bytes the test chooses, with or without TLS, from any address of this host.
#ifndef PENSTOCK_TESTS_HOSTILE_RAW_PEER_H_
#define PENSTOCK_TESTS_HOSTILE_RAW_PEER_H_

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/owned_fd.h"

namespace penstock::hostile {

// Address of this host that only attackers use. Trainers connect from 127.0.0.1.
inline constexpr char kAttacker[] = "127.0.0.66";

// Not thread-safe.
class RawPeer {
 public:
  enum class Wire { kPlain, kTls };

  // Connects from kAttacker to a port of this host. With kTls, completes a handshake for HTTP/2 without a check of the
  // server. Each wait for the peer takes at most 10 s.
  RawPeer(uint16_t port, Wire wire);
  RawPeer(RawPeer&&) noexcept = default;
  RawPeer& operator=(RawPeer&&) noexcept = default;
  ~RawPeer() = default;

  // Whether the connection was established, and no call since has found that the server closed it.
  bool open() const { return open_; }
  // Sends all bytes. Returns false if the server has closed the connection or reads nothing for 10 s.
  bool Send(std::string_view bytes);
  // Reads and discards received bytes without blocking. Returns false if the server has closed the connection.
  bool StaysOpen();

 private:
  struct FreeSsl {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  OwnedFd fd_;
  std::unique_ptr<SSL, FreeSsl> ssl_;
  bool open_ = false;
};

}  // namespace penstock::hostile

#endif  // PENSTOCK_TESTS_HOSTILE_RAW_PEER_H_
