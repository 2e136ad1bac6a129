#include "tests/support/certificates/certificates.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <atomic>

#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/file.h"

namespace penstock::support {
namespace {

using KeyPtr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using X509Ptr = std::unique_ptr<X509, decltype(&X509_free)>;

KeyPtr MakeKey() { return KeyPtr(EVP_EC_gen("P-256"), &EVP_PKEY_free); }

template <typename Write>
std::string PemOf(Write write) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
  PS_CHECK(write(out.get()) == 1);
  char* data = nullptr;
  const long bytes = BIO_get_mem_data(out.get(), &data);  // NOLINT(google-runtime-int): OpenSSL's type
  return std::string(data, static_cast<size_t>(bytes));
}

std::string PemOf(X509* certificate) {
  return PemOf([certificate](BIO* out) { return PEM_write_bio_X509(out, certificate); });
}

void AddExtension(X509* certificate, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  PS_CHECK(extension != nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

X509Ptr MakeCertificate(EVP_PKEY* key, const std::string& subject, const CertificateText& text) {
  static std::atomic<int> serial = 1;
  X509Ptr certificate(X509_new(), &X509_free);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial++);
  ASN1_TIME_set(X509_getm_notBefore(certificate.get()), absl::ToTimeT(text.begins));
  ASN1_TIME_set(X509_getm_notAfter(certificate.get()), absl::ToTimeT(text.ends));
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(subject.c_str()), -1, -1, 0);
  X509_set_pubkey(certificate.get(), key);
  return certificate;
}

}  // namespace

struct TestAuthority::Parts {
  KeyPtr key = MakeKey();
  X509Ptr certificate{nullptr, &X509_free};
};

TestAuthority::TestAuthority() : parts_(std::make_unique<Parts>()) {
  parts_->certificate = MakeCertificate(parts_->key.get(), "test authority", CertificateText());
  X509* const certificate = parts_->certificate.get();
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  AddExtension(certificate, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(certificate, NID_key_usage, "critical,keyCertSign");
  PS_CHECK(X509_sign(certificate, parts_->key.get(), EVP_sha256()) > 0);
  pem_ = PemOf(certificate);
}

TestAuthority::~TestAuthority() = default;

CertifiedKey TestAuthority::Issue(const CertificateText& text) const {
  const KeyPtr key = MakeKey();
  const X509Ptr certificate = MakeCertificate(key.get(), "common name", text);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(parts_->certificate.get()));
  if (!text.names.empty()) AddExtension(certificate.get(), NID_subject_alt_name, absl::StrJoin(text.names, ","));
  PS_CHECK(X509_sign(certificate.get(), parts_->key.get(), EVP_sha256()) > 0);
  return {PemOf(certificate.get()), PemOf([&key](BIO* out) {
            return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

void WriteCertificates(const std::string& folder, const TestAuthority& authority, const CertifiedKey& certified) {
  PS_CHECK(WriteFileAtomically(folder + "/ca.pem", authority.pem()).ok());
  PS_CHECK(WriteFileAtomically(folder + "/cert.pem", certified.cert).ok());
  PS_CHECK(WriteFileAtomically(folder + "/key.pem", certified.key).ok());
}

}  // namespace penstock::support
