#include "server/http/http_connection.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/status.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "net/address.h"
#include "net/call_token.h"
#include "net/tls/handshake_fault.h"

namespace penstock::server {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr size_t kReadBytes = 2 << 10;
// Limit of the bytes that are read and dropped after an answer that ends the connection.
constexpr size_t kMaxLingerBytes = 256 << 10;

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

// Returns the client at the other end, which is unknown if the connection has closed.
transport::Peer ClientOf(const tcp::socket& socket) {
  error_code error;
  const tcp::endpoint end = socket.remote_endpoint(error);
  if (error) return transport::Peer();
  return transport::Peer::Network(net::Address{end.address().to_string(), end.port()}.ToString());
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

}  // namespace

HttpConnection::HttpConnection(HttpShared* shared, tcp::socket socket)
    : shared_(shared),
      client_(ClientOf(socket)),
      host_(client_.Host()),
      wire_(std::move(socket), shared->tls->Current()),
      timer_(*shared->io),
      since_(SteadyNow()) {}

void HttpConnection::Begin() {
  error_code ignored;
  wire_.socket().set_option(tcp::no_delay(true), ignored);
  EndBy(since_ + shared_->limits.head);
  if (!wire_.tls()) return ReadHead();
  wire_.Handshake([self = shared_from_this()](const error_code& error) {
    if (error) net::CountFailedHandshake();
    if (self->closed_) return;
    if (error) return self->Close();
    self->ReadHead();
  });
}

void HttpConnection::Close() {
  if (std::exchange(closed_, true)) return;
  shared_->answer_bytes -= std::exchange(sending_, 0);
  timer_.cancel();
  error_code ignored;
  wire_.socket().close(ignored);
  shared_->open.erase(shared_from_this());
}

void HttpConnection::EndBy(SteadyTime when) {
  timer_.expires_at(when);
  timer_.async_wait([self = shared_from_this()](const error_code& error) {
    // A timer that was set again in time may still report its old end.
    if (error || self->closed_ || self->timer_.expiry() > SteadyNow()) return;
    if (self->state_ != State::kHandling) return self->Close();
    ++self->number_;  // ignores the late reply
    self->Send(TextAnswer(503, self->route_->late));
  });
}

void HttpConnection::ReadHead() {
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
                   if (first && self->number_ > 0) self->EndBy(SteadyNow() + self->shared_->limits.head);
                   self->ReadHead();
                 });
}

void HttpConnection::Handle() {
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
  since_ = SteadyNow();
  ++number_;
  if (request.method != "GET" && !head_only_) {
    return Send(TextAnswer(405, absl::StrCat(request.method, " is not served here: use GET or HEAD")));
  }
  if (has_body) return Reject(TextAnswer(413, "this server reads no request bodies"));
  if (!has_host) return Reject(TextAnswer(400, "the request has no Host field, or several"));
  if (!SplitTarget(target, &request)) return Reject(TextAnswer(400, "the request names no path"));
  route_ = shared_->routes.Find(request.path);
  if (route_ == nullptr) {
    return Send(TextAnswer(
        404, absl::StrCat("there is nothing at this path; there is:\n", absl::StrJoin(shared_->routes.Paths(), "\n"))));
  }
  if (!route_->open && !shared_->only_host.empty() && !host.empty() && !IsOwnHost(host, shared_->only_host)) {
    return Send(TextAnswer(421, "the field Host has a name that is not of this host; use localhost or an IP address"));
  }
  if (shared_->admit != nullptr && !route_->open) {
    transport::Peer client = client_;
    const net::ShownCertificate shown = wire_.shown();
    client.has_certificate = shown.shown;
    client.certificate_names = shown.names;
    const absl::Status may = shared_->admit(request.token, &client);
    if (!may.ok()) {
      if (shared_->on_rejected != nullptr) shared_->on_rejected(client, request.path, may);
      return Send(TextAnswer(absl::IsUnauthenticated(may) ? 401 : 403, std::string(may.message())));
    }
  }
  EndBy(since_ + route_->timeout);
  route_->handler(request, Reply());
}

HttpReply HttpConnection::Reply() {
  return [io = shared_->io, weak = weak_from_this(), number = number_,
          replied = std::make_shared<std::atomic<bool>>(false)](HttpAnswer answer) {
    if (replied->exchange(true)) return;
    asio::post(*io, [weak, number, answer = std::move(answer)]() mutable {
      const std::shared_ptr<HttpConnection> self = weak.lock();
      if (self == nullptr || self->closed_ || self->number_ != number) return;
      self->Send(std::move(answer));
    });
  };
}

void HttpConnection::Reject(HttpAnswer answer) {
  keep_alive_ = false;
  Send(std::move(answer));
}

void HttpConnection::Send(HttpAnswer answer) {
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
  since_ = SteadyNow();
  EndBy(since_ + shared_->limits.write);
  const std::array<asio::const_buffer, 2> parts = {asio::buffer(head_), asio::buffer(body_)};
  wire_.Write(parts, [self = shared_from_this()](const error_code& error, size_t) {
    if (!self->closed_) self->Sent(error);
  });
}

void HttpConnection::Sent(const error_code& error) {
  shared_->answer_bytes -= std::exchange(sending_, 0);
  body_ = std::string();
  if (error) return Close();
  head_only_ = false;
  state_ = State::kReading;
  since_ = SteadyNow();
  if (!keep_alive_) return Linger();
  EndBy(since_ + (buffer_.size() > 0 ? shared_->limits.head : shared_->limits.idle));
  ReadHead();
}

bool HttpConnection::MakeRoom(size_t bytes) {
  if (bytes > shared_->limits.answer_bytes) return false;
  while (shared_->answer_bytes + bytes > shared_->limits.answer_bytes) {
    std::shared_ptr<HttpConnection> slowest;
    for (const std::shared_ptr<HttpConnection>& other : shared_->open) {
      if (other->sending_ > 0 && (slowest == nullptr || other->since_ < slowest->since_)) slowest = other;
    }
    if (slowest == nullptr) return true;
    slowest->Close();
  }
  return true;
}

void HttpConnection::Linger() {
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

void HttpConnection::Drop() {
  if (lingered_ > kMaxLingerBytes) return Close();
  buffer_.clear();
  wire_.ReadSome(buffer_.prepare(kReadBytes), [self = shared_from_this()](const error_code& error, size_t bytes) {
    if (self->closed_) return;
    if (error) return self->Close();
    self->lingered_ += bytes;
    self->Drop();
  });
}

}  // namespace penstock::server
