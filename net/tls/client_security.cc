#include "net/tls/client_security.h"

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace penstock::net {
namespace {

void FillFromVariable(const char* variable, std::string* path) {
  if (!path->empty()) return;
  if (const char* value = std::getenv(variable); value != nullptr) *path = value;
}

}  // namespace

TlsFiles WithEnvironment(TlsFiles given) {
  FillFromVariable("PENSTOCK_TLS_CERT", &given.cert);
  FillFromVariable("PENSTOCK_TLS_KEY", &given.key);
  FillFromVariable("PENSTOCK_TLS_CA", &given.ca);
  return given;
}

absl::StatusOr<ClientSecurity> OpenClientSecurity(const TlsFiles& given) {
  const TlsFiles files = WithEnvironment(given);
  if (files.empty()) return ClientSecurity();
  if (files.ca.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("certificate ", files.cert.empty() ? files.key : files.cert,
                     " is of no use without the CA of the servers: name it with --tls-ca (PENSTOCK_TLS_CA, tls_ca= in "
                     "Python); system: those that this host trusts"));
  }
  PS_ASSIGN_OR_RETURN(const std::shared_ptr<LiveCertificates> certificates, LiveCertificates::Load(files));
  certificates->Watch();
  return ClientSecurity{certificates};
}

}  // namespace penstock::net
