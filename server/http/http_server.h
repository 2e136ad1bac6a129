// A small HTTP/1.1 server for health checks, metrics and status, in one thread. It serves GET and HEAD, and reads no
// bodies. Slow or hostile clients cost a bounded amount of memory, and do not keep other clients from their answers.
#ifndef PENSTOCK_SERVER_HTTP_HTTP_SERVER_H_
#define PENSTOCK_SERVER_HTTP_HTTP_SERVER_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "net/tls/live_certificates.h"
#include "server/http/http_message.h"
#include "server/http/http_sessions.h"
#include "transport/peer.h"

namespace penstock::server {

struct HttpLimits {
  // Open connections. To admit another one, the server closes a connection of the host that has the most: the one that
  // has waited longest without a complete request. If all of them have sent a request, it closes the one that has taken
  // longest to read its answer.
  size_t connections = 256;
  size_t head_bytes = 8 << 10;             // request line and fields; a larger head is answered with 431
  size_t answer_bytes = size_t{64} << 20;  // sum of the answers that are being sent
  std::chrono::milliseconds head{5000};  // from the connection, or the first byte of a later request, to the head's end
  std::chrono::milliseconds write{10000};  // for sending one answer
  std::chrono::milliseconds idle{60000};   // between two requests of a connection
  std::chrono::milliseconds linger{1000};  // for a client to read an answer that ends the connection
};

struct HttpOptions {
  std::string listen;     // HOST:PORT; port 0: any free port
  bool insecure = false;  // allow plaintext on addresses other than loopback
  // Certificate and key of the server, which then serves only TLS. Null: plaintext.
  std::shared_ptr<const net::LiveCertificates> certificates = nullptr;
  // Decides about a request with this token ("": none) of a client with its address and certificate to a route that is
  // not open: OK, Unauthenticated, which becomes 401, or another error, which becomes 403. May set the client's name.
  // Runs on the server's thread and must not block. Unset: every client may.
  std::function<absl::Status(std::string_view token, transport::Peer* client)> admit = nullptr;
  // Sessions that stand for tokens in cookies. Null: the server ignores cookies.
  std::shared_ptr<const HttpSessions> sessions = nullptr;
  // Called on the server's thread, unless it is unset, with the client and the path of a rejected request, or with the
  // client of a connection that is closed in favor of others, and "". Must not block.
  std::function<void(const transport::Peer& client, std::string_view path, const absl::Status& why)> on_rejected =
      nullptr;
  HttpLimits limits = {};
};

class HttpServer {
 public:
  // Starts the server, which serves when this returns.
  //   OK                   the server answers
  //   InvalidArgument      `listen` is not an address
  //   FailedPrecondition   plaintext on a network; the message names the remedies
  //   Unavailable          the port is busy, or the address is not local; the message names the cause and the remedy
  //   ResourceExhausted    the system refuses the thread
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const HttpOptions& options, HttpRoutes routes);

  // Calls Stop().
  ~HttpServer();

  std::string address() const;  // the requested host, with the bound port
  int port() const;

  // Closes all connections, also those with requests under way. When it returns, no handler runs. A second call does
  // nothing. Must not be called in a handler, and only by one thread at a time.
  void Stop();

 private:
  struct Parts;
  explicit HttpServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_HTTP_HTTP_SERVER_H_
