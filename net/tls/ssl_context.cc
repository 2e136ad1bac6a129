#include "net/tls/ssl_context.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace penstock::net {
namespace {

using BioPtr = std::unique_ptr<BIO, decltype(&BIO_free)>;

BioPtr TextOf(const std::string& pem) {
  return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
}

// Calls `use` with each certificate in `pem`. `use` takes it over if it returns true.
template <typename Use>
bool ForEach(const std::string& pem, Use use) {
  const BioPtr text = TextOf(pem);
  bool used = true;
  while (X509* const certificate = PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr)) {
    if (!use(certificate)) {
      X509_free(certificate);
      used = false;
    }
  }
  return used;
}

}  // namespace

absl::Status UseCertificates(const Certificates& certificates, SSL_CTX* context) {
  bool used = true;
  if (!certificates.cert.empty()) {
    bool first = true;
    used = ForEach(certificates.cert, [context, &first](X509* certificate) {
      if (!first) return SSL_CTX_add0_chain_cert(context, certificate) == 1;
      first = false;
      const bool set = SSL_CTX_use_certificate(context, certificate) == 1;  // shares it
      if (set) X509_free(certificate);
      return set;
    });
    const BioPtr text = TextOf(certificates.key);
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
        PEM_read_bio_PrivateKey(text.get(), nullptr, nullptr, nullptr), &EVP_PKEY_free);
    used = used && !first && key != nullptr && SSL_CTX_use_PrivateKey(context, key.get()) == 1;
  }
  if (!certificates.ca.empty()) {
    X509_STORE* const store = SSL_CTX_get_cert_store(context);
    used = ForEach(certificates.ca,
                   [store](X509* certificate) {
                     const bool added = X509_STORE_add_cert(store, certificate) == 1;  // shares it
                     if (added) X509_free(certificate);
                     return added;
                   }) &&
           used;
  }
  ERR_clear_error();
  return used ? absl::OkStatus() : absl::InvalidArgumentError("OpenSSL rejects the certificates or the key");
}

}  // namespace penstock::net
