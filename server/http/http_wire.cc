#include "server/http/http_wire.h"

#include <openssl/ssl.h>

#include "net/tls/ssl_context.h"

namespace penstock::server {

namespace ssl = boost::asio::ssl;

std::shared_ptr<ssl::context> HttpTls::Current() {
  if (certificates_ == nullptr) return nullptr;
  const std::shared_ptr<const net::Certificates> now = certificates_->current();
  if (now == used_) return context_;
  const auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  // Each connection has a complete handshake, which verifies the client's certificate. OpenSSL would end the handshake
  // of a client that resumes a session, as browsers do, because this server asks for certificates and has no session id
  // context.
  SSL_CTX_set_session_cache_mode(context->native_handle(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context->native_handle(), SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context->native_handle(), 0);
  net::Certificates used = *now;
  if (certificates_->files().verifies_clients()) {
    SSL_CTX_set_verify(context->native_handle(), SSL_VERIFY_PEER, nullptr);  // a client may show none
  } else {
    used.ca.clear();
  }
  // LiveCertificates has checked the files. If OpenSSL rejects them nevertheless, handshakes fail.
  net::UseCertificates(used, context->native_handle()).IgnoreError();
  used_ = now;
  context_ = context;
  return context_;
}

}  // namespace penstock::server
