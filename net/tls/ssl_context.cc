#include "net/tls/ssl_context.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

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

ShownCertificate ShownOn(SSL* connection) {
  ShownCertificate shown;
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(connection), &X509_free);
  if (certificate == nullptr || SSL_get_verify_result(connection) != X509_V_OK) return shown;
  shown.shown = true;
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> list(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  for (const int type : {GEN_URI, GEN_DNS}) {
    for (int i = 0; list != nullptr && i < sk_GENERAL_NAME_num(list.get()); ++i) {
      const GENERAL_NAME* const name = sk_GENERAL_NAME_value(list.get(), i);
      if (name->type != type) continue;
      const ASN1_IA5STRING* const text = name->d.ia5;  // the type of both
      shown.names.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                               static_cast<size_t>(ASN1_STRING_length(text)));
    }
  }
  return shown;
}

}  // namespace penstock::net
