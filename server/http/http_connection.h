// One connection of the HTTP server, from its first byte to its end. Only http_server.cc uses it.
#ifndef PENSTOCK_SERVER_HTTP_HTTP_CONNECTION_H_
#define PENSTOCK_SERVER_HTTP_HTTP_CONNECTION_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "server/http/http_message.h"
#include "server/http/http_server.h"
#include "server/http/http_sessions.h"
#include "server/http/http_wire.h"

namespace penstock::server {

using SteadyTime = std::chrono::steady_clock::time_point;

inline SteadyTime SteadyNow() { return std::chrono::steady_clock::now(); }

class HttpConnection;

// State that the connections of a server share. All of it belongs to the server's thread.
struct HttpShared {
  HttpLimits limits;
  HttpRoutes routes;
  std::function<absl::Status(std::string_view, transport::Peer*)> admit;
  std::function<void(const transport::Peer&, std::string_view, const absl::Status&)> on_rejected;
  std::shared_ptr<const HttpSessions> sessions;  // null: none
  std::optional<HttpTls> tls;                    // set at the start
  // Not empty: the server listens on loopback and asks for no token. It then rejects requests, except for open routes,
  // whose field Host has a name that is neither this one nor localhost. Otherwise a web site could give its own name
  // the address 127.0.0.1, and its scripts could read the pages in the browser of a user of this machine.
  std::string only_host;
  // Shared with the replies, because a reply may outlive the server.
  std::shared_ptr<boost::asio::io_context> io = std::make_shared<boost::asio::io_context>(1);
  std::set<std::shared_ptr<HttpConnection>> open;
  size_t answer_bytes = 0;  // sum of the answers that are being sent
};

// One client. The server's thread runs all of it. Pending operations keep the object alive; Close() ends them.
class HttpConnection final : public std::enable_shared_from_this<HttpConnection> {
 public:
  // To admit another connection, the server closes one with the lowest state of the host with the most connections.
  enum class State { kReading, kWriting, kHandling };

  HttpConnection(HttpShared* shared, boost::asio::ip::tcp::socket socket);

  // Starts reading. Call it once.
  void Begin();
  // Closes the socket, and ends all operations. A second call does nothing.
  void Close();
  State state() const { return state_; }
  const transport::Peer& client() const { return client_; }
  // Returns client().Host().
  const std::string& host() const { return host_; }
  // Returns the time since which the connection waits for a request, a handler or its client.
  SteadyTime since() const { return since_; }

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::empty_body>;

  // Ends the current step at `when`: answers 503 while a handler runs, and closes the connection otherwise.
  void EndBy(SteadyTime when);
  // Parses the bytes that are here, and reads more until the head of a request is complete.
  void ReadHead();
  // Handles the request whose head is complete.
  void Handle();
  // Returns the reply to the current request. Any thread may call it. It uses the connection only on the server's
  // thread.
  HttpReply Reply();
  // Answers a request after which the connection cannot continue.
  void Reject(HttpAnswer answer);
  void Send(HttpAnswer answer);
  void Sent(const boost::system::error_code& error);
  // Closes connections that send answers, the slowest first, until `bytes` more fit. Returns false if they cannot fit.
  bool MakeRoom(size_t bytes);
  // Closes the connection when the client has closed it, or after limits.linger. If the server closed the socket before
  // it has read all bytes of the client, the client would get a reset and lose the answer.
  void Linger();
  // Reads and drops bytes until the client closes, up to a limit.
  void Drop();

  HttpShared* const shared_;
  const transport::Peer client_;  // without its certificate
  const std::string host_;
  HttpWire wire_;
  boost::asio::steady_timer timer_;
  State state_ = State::kReading;
  SteadyTime since_;
  bool closed_ = false;
  boost::beast::flat_buffer buffer_;  // bytes of requests that are not parsed yet, at most head_bytes
  std::optional<Parser> parser_;
  size_t head_parsed_ = 0;            // bytes of the current head that the parser has taken
  const HttpRoute* route_ = nullptr;  // route of the request that a handler has
  uint64_t number_ = 0;               // the awaited reply; replies with another number are ignored
  bool keep_alive_ = false;           // after the current answer
  bool head_only_ = false;            // the current request is HEAD
  std::string head_, body_;           // the answer that is being sent
  size_t sending_ = 0;                // bytes of body_ that count in HttpShared::answer_bytes
  size_t lingered_ = 0;
};

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_HTTP_HTTP_CONNECTION_H_
