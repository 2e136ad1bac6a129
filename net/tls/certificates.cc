#include "net/tls/certificates.h"

#include <arpa/inet.h>
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/trusted_certificates.h"

namespace penstock::net {
namespace {

constexpr uint64_t kMostBytes = 8 << 20;  // limit of a file

using X509Ptr = std::unique_ptr<X509, decltype(&X509_free)>;

absl::Status Fault(std::string_view what, const std::string& file, std::string_view fault) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(what), " ", file, ": ", std::string(fault)));
}

// Returns the certificates in a PEM text, in their order. Returns an empty list if any of them is malformed.
std::vector<X509Ptr> ParsePem(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> text(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())),
                                                       &BIO_free);
  std::vector<X509Ptr> certificates;
  while (X509* const next = PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr)) {
    certificates.emplace_back(next, &X509_free);
  }
  const unsigned long error = ERR_peek_last_error();  // NOLINT(google-runtime-int): OpenSSL's type
  ERR_clear_error();
  if (ERR_GET_REASON(error) != PEM_R_NO_START_LINE) certificates.clear();
  return certificates;
}

absl::Time TimeOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return absl::InfinitePast();
  return absl::FromTM(parts, absl::UTCTimeZone());
}

std::string DayOf(absl::Time time) { return absl::FormatTime("%Y-%m-%d %H:%M UTC", time, absl::UTCTimeZone()); }

// Returns the DNS names and IP addresses of the subject's alternative names.
std::vector<std::string> NamesOf(X509* certificate) {
  std::vector<std::string> names;
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> list(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  for (int i = 0; list != nullptr && i < sk_GENERAL_NAME_num(list.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(list.get(), i);
    if (name->type == GEN_DNS) {
      names.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                         static_cast<size_t>(ASN1_STRING_length(name->d.dNSName)));
    } else if (name->type == GEN_IPADD) {
      char text[INET6_ADDRSTRLEN];
      const int family = ASN1_STRING_length(name->d.iPAddress) == 4 ? AF_INET : AF_INET6;
      if (inet_ntop(family, ASN1_STRING_get0_data(name->d.iPAddress), text, sizeof text) != nullptr) {
        names.emplace_back(text);
      }
    }
  }
  return names;
}

absl::Status CheckChain(const TlsFiles& files, absl::Time now, const std::vector<X509Ptr>& chain,
                        Certificates* certificates) {
  for (const X509Ptr& certificate : chain) {
    const absl::Time begins = TimeOf(X509_get0_notBefore(certificate.get()));
    const absl::Time ends = TimeOf(X509_get0_notAfter(certificate.get()));
    if (now >= ends) {
      return Fault("certificate", files.cert, absl::StrCat("it expired on ", DayOf(ends), "; renew it"));
    }
    if (now < begins) {
      return Fault("certificate", files.cert,
                   absl::StrCat("it is not valid before ", DayOf(begins), "; check this host's clock"));
    }
    certificates->begins = std::max(certificates->begins, begins);
    certificates->expires = std::min(certificates->expires, ends);
  }
  return absl::OkStatus();
}

// Returns the key, or null. OpenSSL does not prompt for the password of an encrypted key.
std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> ParseKey(const std::string& pem, bool* encrypted) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> text(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())),
                                                       &BIO_free);
  const auto no_password = [](char*, int, int, void* asked) {
    *static_cast<bool*>(asked) = true;
    return 0;
  };
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(text.get(), nullptr, no_password, encrypted), &EVP_PKEY_free);
  ERR_clear_error();
  return key;
}

absl::StatusOr<std::string> ReadIfNamed(std::string_view what, const std::string& path) {
  if (path.empty()) return std::string();
  absl::StatusOr<std::string> content = ReadWholeFile(path, kMostBytes);
  if (content.ok()) return content;
  return absl::Status(content.status().code(),
                      absl::StrCat(std::string(what), " ", std::string(content.status().message())));
}

// Checks which files are configured.
absl::Status CheckTlsFiles(const TlsFiles& files) {
  if (files.cert.empty() != files.key.empty()) {
    return absl::InvalidArgumentError(
        files.key.empty() ? absl::StrCat("certificate ", files.cert, " has no private key: name it with --tls-key")
                          : absl::StrCat("private key ", files.key, " has no certificate: name it with --tls-cert"));
  }
  return absl::OkStatus();
}

// Checks contents that have been read, and sets the names and the end.
absl::Status CheckCertificates(const TlsFiles& files, absl::Time now, Certificates* certificates) {
  if (!files.cert.empty()) {
    const std::vector<X509Ptr> chain = ParsePem(certificates->cert);
    if (chain.empty()) {
      return Fault("certificate", files.cert, "it is no PEM file with certificates (-----BEGIN CERTIFICATE-----)");
    }
    PS_RETURN_IF_ERROR(CheckChain(files, now, chain, certificates));
    bool encrypted = false;
    const auto key = ParseKey(certificates->key, &encrypted);
    if (key == nullptr) {
      return Fault("private key", files.key,
                   encrypted ? "it has a password; store it without one, in a file that only the service can read"
                             : "it is no PEM file with a private key (-----BEGIN PRIVATE KEY-----)");
    }
    const bool matches = X509_check_private_key(chain[0].get(), key.get()) == 1;
    ERR_clear_error();
    if (!matches) {
      return Fault("private key", files.key,
                   absl::StrCat("it does not belong to the first certificate in ", files.cert,
                                "; the process's own certificate comes first, then its intermediates"));
    }
    certificates->names = NamesOf(chain[0].get());
  }
  if (!files.ca.empty()) {
    const std::vector<X509Ptr> authorities = ParsePem(certificates->ca);
    if (authorities.empty()) {
      return Fault("CA", files.ca, "it is no PEM file with certificates (-----BEGIN CERTIFICATE-----)");
    }
    certificates->ca_expires = absl::InfinitePast();
    for (const X509Ptr& authority : authorities) {
      certificates->ca_expires = std::max(certificates->ca_expires, TimeOf(X509_get0_notAfter(authority.get())));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Certificates> ReadCertificates(const TlsFiles& files, absl::Time now) {
  PS_RETURN_IF_ERROR(CheckTlsFiles(files));
  std::string ca = files.ca;
  if (ca == "system") {
    ca = TrustedCertificatesFile();
    if (ca.empty()) {
      return absl::NotFoundError(
          "--tls-ca system: this host has no file of trusted certificates; install the package "
          "ca-certificates, or name a CA file");
    }
  }
  Certificates certificates;
  PS_ASSIGN_OR_RETURN(certificates.cert, ReadIfNamed("certificate", files.cert));
  PS_ASSIGN_OR_RETURN(certificates.key, ReadIfNamed("private key", files.key));
  PS_ASSIGN_OR_RETURN(certificates.ca, ReadIfNamed("CA", ca));
  PS_RETURN_IF_ERROR(CheckCertificates(files, now, &certificates));
  return certificates;
}

bool IsForHost(const Certificates& certificates, const std::string& host) {
  const std::vector<X509Ptr> chain = ParsePem(certificates.cert);
  if (chain.empty()) return false;
  return X509_check_host(chain[0].get(), host.data(), host.size(), X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, nullptr) == 1 ||
         X509_check_ip_asc(chain[0].get(), host.c_str(), 0) == 1;
}

}  // namespace penstock::net
