#include "tests/support/certificates/closing_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <memory>

#include "base/check.h"
#include "net/tls/ssl_context.h"

namespace penstock::support {

ClosingServer::ClosingServer(When when) : when_(when), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  PS_CHECK(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  PS_CHECK(listen(listener_.get(), 1) == 0);
  PS_CHECK(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Serve(); });
}

ClosingServer::~ClosingServer() { thread_.join(); }

void ClosingServer::Serve() {
  const OwnedFd connection(accept(listener_.get(), nullptr, nullptr));
  listener_.Reset();
  const CertifiedKey certified = authority_.Issue();
  net::Certificates own;
  own.cert = certified.cert;
  own.key = certified.key;
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  PS_CHECK(net::UseCertificates(own, context.get()).ok());
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), &SSL_free);
  BIO* const in = BIO_new(BIO_s_mem());
  BIO* const out = BIO_new(BIO_s_mem());
  SSL_set_bio(ssl.get(), in, out);
  char buffer[4096];
  for (bool answered = false, requested = false; when_ == When::kInHandshake ? !answered : !requested;) {
    const ssize_t bytes = recv(connection.get(), buffer, sizeof buffer, 0);
    PS_CHECK(bytes > 0);
    BIO_write(in, buffer, static_cast<int>(bytes));
    requested = SSL_accept(ssl.get()) == 1 && SSL_read(ssl.get(), buffer, sizeof buffer) > 0;
    while (BIO_ctrl_pending(out) > 0) {
      const int answer = BIO_read(out, buffer, sizeof buffer);
      PS_CHECK(send(connection.get(), buffer, static_cast<size_t>(answer), MSG_NOSIGNAL) == answer);
      answered = true;
    }
  }
}

}  // namespace penstock::support
