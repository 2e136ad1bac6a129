#include "server/http/http_server.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <cstdint>
#include <optional>
#include <set>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/host_key.h"
#include "base/runtime/threads.h"
#include "base/status_macros.h"
#include "net/address.h"
#include "net/call_token.h"
#include "server/common/bind_check.h"
#include "server/http/http_wire.h"

namespace penstock::server {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr size_t kReadBytes = 2 << 10;
// Limit of the bytes that are read and dropped after an answer that ends the connection.
constexpr size_t kMaxLingerBytes = 256 << 10;
// Pause after the system refused a connection, for example because of the limit on descriptors.
constexpr auto kAcceptPause = std::chrono::milliseconds(50);
// Pause between two log lines about too many connections.
constexpr auto kLogPause = std::chrono::minutes(1);

SteadyTime Now() { return std::chrono::steady_clock::now(); }

// asio opens sockets that child processes inherit.
template <typename Socket>
void CloseOnExec(Socket* socket) {
  fcntl(socket->native_handle(), F_SETFD, FD_CLOEXEC);
}

HttpAnswer TextAnswer(int status, std::string text) {
  HttpAnswer answer;
  answer.status = status;
  answer.body = absl::StrCat(text, "\n");
  return answer;
}

HttpAnswer AnswerTo(const error_code& error, size_t head_bytes) {
  if (error == http::error::header_limit) {
    return TextAnswer(431, absl::StrCat("the head of the request is larger than ", head_bytes, " bytes"));
  }
  if (error == http::error::body_limit) return TextAnswer(413, "this server reads no request bodies");
  if (error == http::error::bad_version) return TextAnswer(505, "this server speaks HTTP/1.1");
  return TextAnswer(400, absl::StrCat("this is not an HTTP/1.1 request: ", error.message()));
}

// Splits a request target into path and query. Returns false for a target that is neither a path nor a URL.
bool SplitTarget(std::string target, HttpRequest* request) {
  if (absl::StartsWithIgnoreCase(target, "http://")) {  // as sent through a proxy
    const size_t slash = target.find_first_of("/?", 7);
    target = slash == std::string::npos ? "/" : target.substr(slash);
    if (target[0] == '?') target.insert(0, "/");
  }
  if (target.empty() || target[0] != '/') return false;
  const size_t mark = target.find('?');
  request->path = target.substr(0, mark);
  request->query = mark == std::string::npos ? "" : target.substr(mark + 1);
  return true;
}

// Returns the host at the other end, or "" if the connection has closed.
std::string HostOf(const tcp::socket& socket) {
  error_code error;
  const tcp::endpoint end = socket.remote_endpoint(error);
  return error ? "" : HostKey(end.address().to_string());
}

// Returns whether the value of a field Host is `name`, a name of this host in any network, or an IP address.
bool IsOwnHost(const std::string& field, const std::string& name) {
  std::string host = absl::AsciiStrToLower(field);
  if (absl::StartsWith(host, "[")) return true;
  host = host.substr(0, host.find(':'));
  error_code error;
  asio::ip::make_address_v4(host, error);
  return !error || host == "localhost" || absl::EndsWith(host, ".localhost") || host == absl::AsciiStrToLower(name);
}

class Connection;

// What the connections of a server share. All of it belongs to the server's thread.
struct Shared {
  HttpLimits limits;
  HttpRoutes routes;
  std::function<absl::Status(std::string_view, const net::ShownCertificate&)> admit;
  std::function<void(const std::string&, const absl::Status&)> on_rejected;
  std::shared_ptr<const HttpSessions> sessions;  // null: none
  std::optional<HttpTls> tls;                    // set at the start
  // Not empty: the server trusts its host. Then it rejects requests whose field Host has another name than this one. A
  // web site may give its own name the address of the host, and would read the pages in the browser of a user here.
  std::string only_host;
  // Replies that outlive the server keep it alive.
  std::shared_ptr<asio::io_context> io = std::make_shared<asio::io_context>(1);
  std::set<std::shared_ptr<Connection>> open;
  size_t answer_bytes = 0;  // sum of the answers that are being sent
};

// One client. The server's thread runs all of it. Pending operations keep the object alive; Close() ends them.
class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  // The connection may be closed in favor of others in this order.
  enum class State { kReading, kWriting, kHandling };

  Connection(Shared* shared, tcp::socket socket)
      : shared_(shared),
        host_(HostOf(socket)),
        wire_(std::move(socket), shared->tls->Current()),
        timer_(*shared->io),
        since_(Now()) {}

  void Begin() {
    error_code ignored;
    wire_.socket().set_option(tcp::no_delay(true), ignored);
    EndBy(since_ + shared_->limits.head);
    if (!wire_.tls()) return ReadHead();
    wire_.Handshake([self = shared_from_this()](const error_code& error) {
      if (self->closed_) return;
      if (error) return self->Close();
      self->ReadHead();
    });
  }

  void Close() {
    if (std::exchange(closed_, true)) return;
    shared_->answer_bytes -= std::exchange(sending_, 0);
    timer_.cancel();
    error_code ignored;
    wire_.socket().close(ignored);
    shared_->open.erase(shared_from_this());
  }

  State state() const { return state_; }
  const std::string& host() const { return host_; }
  // Returns the time since which the connection waits for a request, a handler or its client.
  SteadyTime since() const { return since_; }

 private:
  using Parser = http::request_parser<http::empty_body>;

  // Ends the current step at `when`: answers 503 while a handler runs, and closes the connection otherwise.
  void EndBy(SteadyTime when) {
    timer_.expires_at(when);
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
      // A timer that was set again in time may still report its old end.
      if (error || self->closed_ || self->timer_.expiry() > Now()) return;
      if (self->state_ != State::kHandling) return self->Close();
      ++self->number_;  // ignores the late reply
      self->Send(TextAnswer(503, self->route_->late));
    });
  }

  // Parses the bytes that are here, and reads more until the head of a request is complete.
  void ReadHead() {
    if (!parser_.has_value()) {
      parser_.emplace();
      parser_->header_limit(static_cast<uint32_t>(shared_->limits.head_bytes));
    }
    if (buffer_.size() > 0) {
      error_code error;
      const size_t parsed = parser_->put(buffer_.data(), error);
      buffer_.consume(parsed);
      head_parsed_ += parsed;
      if (!error && parser_->is_header_done()) return Handle();
      if (error == http::error::need_more && head_parsed_ + buffer_.size() >= shared_->limits.head_bytes) {
        error = http::error::header_limit;
      }
      if (error && error != http::error::need_more) return Reject(AnswerTo(error, shared_->limits.head_bytes));
    }
    const size_t space = shared_->limits.head_bytes - head_parsed_ - buffer_.size();
    wire_.ReadSome(buffer_.prepare(std::min(kReadBytes, space)),
                   [self = shared_from_this()](const error_code& error, size_t bytes) {
                     if (self->closed_) return;
                     if (error) return self->Close();
                     const bool first = self->head_parsed_ + self->buffer_.size() == 0;
                     self->buffer_.commit(bytes);
                     if (first && self->number_ > 0) self->EndBy(Now() + self->shared_->limits.head);
                     self->ReadHead();
                   });
  }

  // Handles the request whose head is complete.
  void Handle() {
    const Parser::value_type& head = parser_->get();
    HttpRequest request;
    request.method = std::string(head.method_string());
    const std::string target(head.target());
    const auto authorization = head[http::field::authorization];
    request.token = std::string(net::TokenInField({authorization.data(), authorization.size()}));
    if (request.token.empty() && shared_->sessions != nullptr) {
      const auto cookies = head[http::field::cookie];
      request.token = shared_->sessions->TokenOf({cookies.data(), cookies.size()});
    }
    const std::string host(head[http::field::host]);
    const bool has_body = parser_->chunked() || parser_->content_length().value_or(0) > 0;
    const bool has_host = head.version() < 11 || head.count(http::field::host) == 1;
    keep_alive_ = parser_->keep_alive() && !has_body;
    head_only_ = request.method == "HEAD";
    parser_.reset();
    head_parsed_ = 0;
    state_ = State::kHandling;
    since_ = Now();
    ++number_;
    if (request.method != "GET" && !head_only_) {
      return Send(TextAnswer(405, absl::StrCat(request.method, " is not served here: use GET or HEAD")));
    }
    if (has_body) return Reject(TextAnswer(413, "this server reads no request bodies"));
    if (!has_host) return Reject(TextAnswer(400, "the request has no Host field, or several"));
    if (!SplitTarget(target, &request)) return Reject(TextAnswer(400, "the request names no path"));
    route_ = shared_->routes.Find(request.path);
    if (route_ == nullptr) {
      return Send(TextAnswer(404, absl::StrCat("there is nothing at this path; there is:\n",
                                               absl::StrJoin(shared_->routes.Paths(), "\n"))));
    }
    if (!route_->open && !shared_->only_host.empty() && !host.empty() && !IsOwnHost(host, shared_->only_host)) {
      return Send(
          TextAnswer(421, "the field Host has a name that is not of this host; use localhost or an IP address"));
    }
    if (shared_->admit != nullptr && !route_->open) {
      const absl::Status may = shared_->admit(request.token, wire_.shown());
      if (!may.ok()) {
        if (shared_->on_rejected != nullptr) shared_->on_rejected(host_, may);
        return Send(TextAnswer(absl::IsUnauthenticated(may) ? 401 : 403, std::string(may.message())));
      }
    }
    EndBy(since_ + route_->timeout);
    route_->handler(request, Reply());
  }

  // Returns the reply to the current request. It refers to the connection only in the server's thread.
  HttpReply Reply() {
    return [io = shared_->io, weak = weak_from_this(), number = number_,
            replied = std::make_shared<std::atomic<bool>>(false)](HttpAnswer answer) {
      if (replied->exchange(true)) return;
      asio::post(*io, [weak, number, answer = std::move(answer)]() mutable {
        const std::shared_ptr<Connection> self = weak.lock();
        if (self == nullptr || self->closed_ || self->number_ != number) return;
        self->Send(std::move(answer));
      });
    };
  }

  // Answers a request after which the connection cannot continue.
  void Reject(HttpAnswer answer) {
    keep_alive_ = false;
    Send(std::move(answer));
  }

  void Send(HttpAnswer answer) {
    ++number_;  // ignores further replies
    if (!MakeRoom(answer.body.size())) answer = TextAnswer(503, "the answer is too large to be sent");
    const auto status = static_cast<http::status>(answer.status);
    const auto reason = http::obsolete_reason(status);
    head_ = absl::StrCat("HTTP/1.1 ", answer.status, " ", absl::string_view(reason.data(), reason.size()),
                         "\r\nDate: ", absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", absl::Now(), absl::UTCTimeZone()),
                         "\r\nContent-Type: ", answer.content_type, "\r\nContent-Length: ", answer.body.size(),
                         "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n",
                         answer.status == 405   ? "Allow: GET, HEAD\r\n"
                         : answer.status == 401 ? "WWW-Authenticate: Bearer\r\n"
                                                : "",
                         keep_alive_ ? "Connection: keep-alive\r\n" : "Connection: close\r\n");
    for (const auto& [name, value] : answer.fields) absl::StrAppend(&head_, name, ": ", value, "\r\n");
    head_ += "\r\n";
    body_ = head_only_ ? std::string() : std::move(answer.body);
    sending_ = body_.size();
    shared_->answer_bytes += sending_;
    state_ = State::kWriting;
    since_ = Now();
    EndBy(since_ + shared_->limits.write);
    const std::array<asio::const_buffer, 2> parts = {asio::buffer(head_), asio::buffer(body_)};
    wire_.Write(parts, [self = shared_from_this()](const error_code& error, size_t) {
      if (!self->closed_) self->Sent(error);
    });
  }

  void Sent(const error_code& error) {
    shared_->answer_bytes -= std::exchange(sending_, 0);
    body_ = std::string();
    if (error) return Close();
    head_only_ = false;
    state_ = State::kReading;
    since_ = Now();
    if (!keep_alive_) return Linger();
    EndBy(since_ + (buffer_.size() > 0 ? shared_->limits.head : shared_->limits.idle));
    ReadHead();
  }

  // Closes connections that send answers, the slowest first, until `bytes` more fit. Returns false if they cannot fit.
  bool MakeRoom(size_t bytes) {
    if (bytes > shared_->limits.answer_bytes) return false;
    while (shared_->answer_bytes + bytes > shared_->limits.answer_bytes) {
      std::shared_ptr<Connection> slowest;
      for (const std::shared_ptr<Connection>& other : shared_->open) {
        if (other->sending_ > 0 && (slowest == nullptr || other->since_ < slowest->since_)) slowest = other;
      }
      if (slowest == nullptr) return true;
      slowest->Close();
    }
    return true;
  }

  // Closes the connection after the client has read the answer. If the socket were closed with unread bytes, the
  // client would get a reset and lose the answer.
  void Linger() {
    EndBy(since_ + shared_->limits.linger);
    if (wire_.tls()) {
      return wire_.SendEnd([self = shared_from_this()](const error_code&) {
        if (!self->closed_) self->Close();
      });
    }
    error_code error;
    wire_.socket().shutdown(tcp::socket::shutdown_send, error);
    if (error) return Close();
    lingered_ = buffer_.size();
    Drop();
  }

  void Drop() {
    if (lingered_ > kMaxLingerBytes) return Close();
    buffer_.clear();
    wire_.ReadSome(buffer_.prepare(kReadBytes), [self = shared_from_this()](const error_code& error, size_t bytes) {
      if (self->closed_) return;
      if (error) return self->Close();
      self->lingered_ += bytes;
      self->Drop();
    });
  }

  Shared* const shared_;
  const std::string host_;
  HttpWire wire_;
  asio::steady_timer timer_;
  State state_ = State::kReading;
  SteadyTime since_;
  bool closed_ = false;
  boost::beast::flat_buffer buffer_;  // bytes of requests that are not parsed yet, at most head_bytes
  std::optional<Parser> parser_;
  size_t head_parsed_ = 0;            // bytes of the current head that the parser has taken
  const HttpRoute* route_ = nullptr;  // route of the request that a handler has
  uint64_t number_ = 0;               // changes when a reply is no longer welcome
  bool keep_alive_ = false;           // after the current answer
  bool head_only_ = false;            // the current request is HEAD
  std::string head_, body_;           // the answer that is being sent
  size_t sending_ = 0;                // bytes of body_ that count in Shared::answer_bytes
  size_t lingered_ = 0;
};

// A listening socket with the pause after a refused connection.
struct Listener {
  explicit Listener(asio::io_context* io) : acceptor(*io), pause(*io) {}
  tcp::acceptor acceptor;
  asio::steady_timer pause;
};

// Opens a socket that listens at `endpoint`.
error_code Listen(const tcp::endpoint& endpoint, tcp::acceptor* acceptor) {
  error_code error;
  acceptor->open(endpoint.protocol(), error);
  if (error) return error;
  CloseOnExec(acceptor);
  acceptor->set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor->bind(endpoint, error);
  if (!error) acceptor->listen(asio::socket_base::max_listen_connections, error);
  return error;
}

absl::Status CannotListen(const net::Address& address, const error_code& error) {
  return absl::UnavailableError(absl::StrCat(
      "cannot listen on ", address.ToString(),
      " for HTTP: ", error == asio::error::address_in_use ? "another process listens there already" : error.message(),
      "; choose another address with --http (http in the configuration), or port 0 for any free port"));
}

}  // namespace

struct HttpServer::Parts {
  Shared shared;
  net::Address address;
  std::vector<std::unique_ptr<Listener>> listeners;
  SteadyTime logged = SteadyTime::min();
  bool stopping = false;  // belongs to the server's thread
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
  std::thread thread;

  // Listens at all addresses of the host, with the same port.
  absl::Status ListenAt(net::Address wanted) {
    error_code error;
    tcp::resolver resolver(*shared.io);
    const auto found = resolver.resolve(wanted.host, absl::StrCat(wanted.port),
                                        tcp::resolver::passive | tcp::resolver::numeric_service, error);
    if (error) return CannotListen(wanted, error);
    for (const auto& entry : found) {
      auto listener = std::make_unique<Listener>(shared.io.get());
      const error_code failed = Listen({entry.endpoint().address(), wanted.port}, &listener->acceptor);
      // A name may have an IPv6 address on a host without IPv6.
      if (failed == asio::error::address_family_not_supported || failed.value() == EADDRNOTAVAIL) {
        error = failed;
        continue;
      }
      if (failed) return CannotListen(wanted, failed);
      if (wanted.port == 0) wanted.port = listener->acceptor.local_endpoint(error).port();
      listeners.push_back(std::move(listener));
    }
    if (listeners.empty()) return CannotListen(wanted, error);
    address = wanted;
    return absl::OkStatus();
  }

  void Accept(Listener* listener) {
    listener->acceptor.async_accept([this, listener](const error_code& error, tcp::socket socket) {
      if (stopping) return;
      if (!error) {
        Admit(std::move(socket));
        return Accept(listener);
      }
      if (error == asio::error::connection_aborted) return Accept(listener);
      CloseOne();  // frees a descriptor
      listener->pause.expires_after(kAcceptPause);
      listener->pause.async_wait([this, listener](const error_code& ended) {
        if (!ended && !stopping) Accept(listener);
      });
    });
  }

  void Admit(tcp::socket socket) {
    CloseOnExec(&socket);
    if (shared.open.size() >= shared.limits.connections) {
      const std::string closed = CloseOne();
      if (shared.on_rejected != nullptr) {
        shared.on_rejected(closed, absl::ResourceExhaustedError(absl::StrCat(
                                       "HTTP has ", shared.limits.connections,
                                       " connections, the most that it keeps, and this one has waited longest")));
      }
      if (logged == SteadyTime::min() || Now() - logged > kLogPause) {
        logged = Now();
        spdlog::warn("HTTP on {} has {} connections, the most that it keeps: it closes those that wait longest",
                     address.ToString(), shared.limits.connections);
      }
    }
    const auto connection = std::make_shared<Connection>(&shared, std::move(socket));
    shared.open.insert(connection);
    connection->Begin();
  }

  // Closes the connection that has waited longest. Returns its host.
  std::string CloseOne() {
    const auto rank = [](const std::shared_ptr<Connection>& one) { return std::tuple(one->state(), one->since()); };
    const auto first =
        std::min_element(shared.open.begin(), shared.open.end(),
                         [&rank](const auto& one, const auto& other) { return rank(one) < rank(other); });
    if (first == shared.open.end()) return "";
    const std::shared_ptr<Connection> longest = *first;
    longest->Close();
    return longest->host();
  }

  // Ends everything that the server's thread waits for.
  void StopHere() {
    stopping = true;
    for (const std::unique_ptr<Listener>& listener : listeners) {
      error_code ignored;
      listener->acceptor.close(ignored);
      listener->pause.cancel();
    }
    const std::set<std::shared_ptr<Connection>> open = shared.open;
    for (const std::shared_ptr<Connection>& connection : open) connection->Close();
    work.reset();
  }
};

HttpServer::HttpServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

HttpServer::~HttpServer() { Stop(); }

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpOptions& options, HttpRoutes routes) {
  if (options.certificates == nullptr)
    PS_RETURN_IF_ERROR(CheckPlaintextBind(options.listen, {options.insecure, options.admit != nullptr}));
  PS_ASSIGN_OR_RETURN(const net::Address wanted, net::ParseAddress(options.listen));
  auto parts = std::make_unique<Parts>();
  parts->shared.limits = options.limits;
  parts->shared.admit = options.admit;
  parts->shared.on_rejected = options.on_rejected;
  parts->shared.sessions = options.sessions;
  if (options.certificates == nullptr && options.admit == nullptr && wanted.IsLoopback()) {
    parts->shared.only_host = wanted.host;
  }
  parts->shared.routes = std::move(routes);
  parts->shared.tls.emplace(options.certificates);
  PS_RETURN_IF_ERROR(parts->ListenAt(wanted));
  for (const std::unique_ptr<Listener>& listener : parts->listeners) parts->Accept(listener.get());
  parts->work.emplace(parts->shared.io->get_executor());
  PS_ASSIGN_OR_RETURN(parts->thread, StartThread("ps-http", [io = parts->shared.io.get()] { io->run(); }));
  spdlog::info("{} listens on {}", options.certificates == nullptr ? "HTTP" : "HTTPS", parts->address.ToString());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(parts)));
}

std::string HttpServer::address() const { return parts_->address.ToString(); }

int HttpServer::port() const { return parts_->address.port; }

void HttpServer::Stop() {
  if (!parts_->thread.joinable()) return;
  asio::post(*parts_->shared.io, [parts = parts_.get()] { parts->StopHere(); });
  parts_->thread.join();
}

}  // namespace penstock::server
