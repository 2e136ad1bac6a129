#include "net/tls/grpc_credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpcpp/impl/codegen/grpc_library.h>

#include <memory>
#include <string>
#include <utility>

#include "base/check.h"

namespace penstock::net {
namespace {

// gRPC's C++ interface has no credentials that follow changes without reading files itself. Its C interface calls a
// function before each handshake.
class LiveServerCredentials final : public grpc::ServerCredentials {
 public:
  explicit LiveServerCredentials(const LiveCertificates* certificates) : certificates_(certificates) {}

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {
    PS_CHECK(false);  // the gate checks tokens
  }

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    // gRPC calls Fetch under a lock of the port, one handshake at a time, and keeps the returned configuration until
    // Fetch returns another one.
    PS_CHECK(port_ == nullptr);
    port_ = std::make_unique<Port>(Port{certificates_, nullptr});
    grpc_ssl_server_credentials_options* const options =
        grpc_ssl_server_credentials_create_options_using_config_fetcher(
            certificates_->files().verifies_clients() ? GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY
                                                      : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
            &Fetch, port_.get());
    grpc_server_credentials* const credentials = grpc_ssl_server_credentials_create_with_options(options);
    const int bound = grpc_server_add_http2_port(server, address.c_str(), credentials);
    grpc_server_credentials_release(credentials);
    return bound;
  }

  struct Port {
    const LiveCertificates* certificates;
    std::shared_ptr<const Certificates> used;  // source of the last configuration for gRPC
  };

  static grpc_ssl_certificate_config_reload_status Fetch(void* user, grpc_ssl_server_certificate_config** config) {
    auto* const port = static_cast<Port*>(user);
    std::shared_ptr<const Certificates> now = port->certificates->current();
    if (now == port->used) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair pair = {now->key.c_str(), now->cert.c_str()};
    // gRPC 1.51 aborts without any authority, also if it requests no certificates.
    const std::string& authority = port->certificates->files().verifies_clients() ? now->ca : now->cert;
    *config = grpc_ssl_server_certificate_config_create(authority.c_str(), &pair, 1);
    port->used = std::move(now);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const LiveCertificates* const certificates_;
  std::unique_ptr<Port> port_;
};

}  // namespace

std::shared_ptr<grpc::ChannelCredentials> TlsChannelCredentials(const Certificates& certificates) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = certificates.ca;
  options.pem_cert_chain = certificates.cert;
  options.pem_private_key = certificates.key;
  return grpc::SslCredentials(options);
}

std::shared_ptr<grpc::ServerCredentials> TlsServerCredentials(const LiveCertificates* certificates) {
  return std::make_shared<LiveServerCredentials>(certificates);
}

}  // namespace penstock::net
