// A server that closes TLS connections early.
#ifndef PENSTOCK_TESTS_SUPPORT_CERTIFICATES_CLOSING_SERVER_H_
#define PENSTOCK_TESTS_SUPPORT_CERTIFICATES_CLOSING_SERVER_H_

#include <cstdint>
#include <thread>

#include "base/owned_fd.h"
#include "tests/support/certificates/certificates.h"

namespace penstock::support {

// Accepts one connection on loopback, and closes it and the port at a moment at which OpenSSL writes to a closed
// connection. Such a write raises SIGPIPE unless the client prevents that.
class ClosingServer {
 public:
  enum class When {
    kInHandshake,  // after the server's part of the handshake, which the client then finds complete
    kInRequest,    // after the first bytes of the request
  };
  explicit ClosingServer(When when);
  ~ClosingServer();
  ClosingServer(const ClosingServer&) = delete;
  ClosingServer& operator=(const ClosingServer&) = delete;

  uint16_t port() const { return port_; }
  // Returns the authority of the server's certificate, which is for localhost and 127.0.0.1.
  const TestAuthority& authority() const { return authority_; }

 private:
  void Serve();

  const When when_;
  const TestAuthority authority_;
  OwnedFd listener_;
  uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_CERTIFICATES_CLOSING_SERVER_H_
