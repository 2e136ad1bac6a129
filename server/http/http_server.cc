#include "server/http/http_server.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/runtime/threads.h"
#include "base/status_macros.h"
#include "net/address.h"
#include "server/common/bind_check.h"
#include "server/http/http_connection.h"
#include "server/http/http_wire.h"

namespace penstock::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Pause after the system refused a connection, for example because of the limit on descriptors.
constexpr auto kAcceptPause = std::chrono::milliseconds(50);
// Pause between two log lines about too many connections.
constexpr auto kLogPause = std::chrono::minutes(1);

// asio opens sockets that child processes inherit.
template <typename Socket>
void CloseOnExec(Socket* socket) {
  fcntl(socket->native_handle(), F_SETFD, FD_CLOEXEC);
}

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
  HttpShared shared;
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
      const std::optional<transport::Peer> closed = CloseOne();
      if (shared.on_rejected != nullptr && closed.has_value()) {
        shared.on_rejected(*closed, "",
                           absl::ResourceExhaustedError(absl::StrCat(
                               "HTTP has ", shared.limits.connections,
                               " connections, the most that it keeps, and this one has waited longest of its "
                               "host, which has the most")));
      }
      if (logged == SteadyTime::min() || SteadyNow() - logged > kLogPause) {
        logged = SteadyNow();
        spdlog::warn(
            "HTTP on {} has {} connections, the most that it keeps: it closes those of the host with the most, the "
            "longest waiting first",
            address.ToString(), shared.limits.connections);
      }
    }
    const auto connection = std::make_shared<HttpConnection>(&shared, std::move(socket));
    shared.open.insert(connection);
    connection->Begin();
  }

  // Closes the connection that has waited longest of the host with the most connections. Returns its client.
  std::optional<transport::Peer> CloseOne() {
    std::map<std::string_view, int> lead;  // by host: the number of its connections, negated
    for (const std::shared_ptr<HttpConnection>& one : shared.open) --lead[one->host()];
    const auto rank = [&lead](const std::shared_ptr<HttpConnection>& one) {
      return std::tuple(lead[one->host()], one->state(), one->since());
    };
    const auto first =
        std::min_element(shared.open.begin(), shared.open.end(),
                         [&rank](const auto& one, const auto& other) { return rank(one) < rank(other); });
    if (first == shared.open.end()) return std::nullopt;
    const std::shared_ptr<HttpConnection> longest = *first;
    longest->Close();
    return longest->client();
  }

  // Ends everything that the server's thread waits for.
  void StopHere() {
    stopping = true;
    for (const std::unique_ptr<Listener>& listener : listeners) {
      error_code ignored;
      listener->acceptor.close(ignored);
      listener->pause.cancel();
    }
    const std::set<std::shared_ptr<HttpConnection>> open = shared.open;
    for (const std::shared_ptr<HttpConnection>& connection : open) connection->Close();
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
