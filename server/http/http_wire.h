// The bytes of one HTTP connection, with or without TLS. Only the server and its connections include it.
#ifndef PENSTOCK_SERVER_HTTP_HTTP_WIRE_H_
#define PENSTOCK_SERVER_HTTP_HTTP_WIRE_H_

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "net/tls/live_certificates.h"
#include "net/tls/ssl_context.h"

namespace penstock::server {

// The TLS settings of a server, which follow its certificates. For one thread.
class HttpTls {
 public:
  explicit HttpTls(std::shared_ptr<const net::LiveCertificates> certificates)
      : certificates_(std::move(certificates)) {}

  // Returns the settings for a new connection, or null without certificates.
  std::shared_ptr<boost::asio::ssl::context> Current();

 private:
  const std::shared_ptr<const net::LiveCertificates> certificates_;
  std::shared_ptr<const net::Certificates> used_;
  std::shared_ptr<boost::asio::ssl::context> context_;
};

// One connection. For one thread. Handlers are those of Boost.Asio.
class HttpWire {
 public:
  // `tls` is null for plaintext.
  HttpWire(boost::asio::ip::tcp::socket socket, std::shared_ptr<boost::asio::ssl::context> tls)
      : socket_(std::move(socket)), tls_(std::move(tls)) {
    if (tls_ != nullptr) stream_.emplace(socket_, *tls_);
  }

  boost::asio::ip::tcp::socket& socket() { return socket_; }
  bool tls() const { return stream_.has_value(); }

  // Returns the client's certificate. Call it after the handshake. Without TLS there is none.
  net::ShownCertificate shown() { return tls() ? net::ShownOn(stream_->native_handle()) : net::ShownCertificate(); }

  // Only with TLS: agrees with the client on keys.
  template <typename Handler>
  void Handshake(Handler handler) {
    stream_->async_handshake(boost::asio::ssl::stream_base::server, std::move(handler));
  }
  // Only with TLS: ends the stream of bytes to the client.
  template <typename Handler>
  void SendEnd(Handler handler) {
    stream_->async_shutdown(std::move(handler));
  }
  template <typename Buffer, typename Handler>
  void ReadSome(const Buffer& buffer, Handler handler) {
    if (tls()) return stream_->async_read_some(buffer, std::move(handler));
    socket_.async_read_some(buffer, std::move(handler));
  }
  template <typename Buffers, typename Handler>
  void Write(const Buffers& buffers, Handler handler) {
    if (tls()) {
      boost::asio::async_write(*stream_, buffers, std::move(handler));
    } else {
      boost::asio::async_write(socket_, buffers, std::move(handler));
    }
  }

 private:
  boost::asio::ip::tcp::socket socket_;
  const std::shared_ptr<boost::asio::ssl::context> tls_;
  std::optional<boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>> stream_;
};

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_HTTP_HTTP_WIRE_H_
