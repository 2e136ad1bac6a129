#include "base/trusted_certificates.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace penstock {

const std::string& TrustedCertificatesFile() {
  static const std::string path = [] {
    for (const char* variable : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
      if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') return std::string(value);
    }
    for (const char* file : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                             "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
      std::error_code error;
      if (std::filesystem::exists(file, error)) return std::string(file);
    }
    return std::string();
  }();
  return path;
}

}  // namespace penstock
