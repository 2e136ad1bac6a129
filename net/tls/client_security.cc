#include "net/tls/client_security.h"

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "net/address.h"

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

std::string TokenFileOr(const std::string& given) {
  std::string path = given;
  FillFromVariable("PENSTOCK_TOKEN_FILE", &path);
  return path;
}

absl::Status ClientSecurity::MayShow(const std::string& secret, const std::string& address) const {
  if (tls()) return absl::OkStatus();
  const absl::StatusOr<Address> parsed = ParseAddress(address);
  if (parsed.ok() && parsed->IsLoopback()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the ", secret, " is not sent to ", address,
                   " in plaintext: use TLS with --tls-ca (PENSTOCK_TLS_CA, tls_ca= in Python)"));
}

absl::StatusOr<std::string> ClientSecurity::TokenFor(const std::string& address) const {
  if (token == nullptr) return std::string();
  PS_RETURN_IF_ERROR(MayShow("token", address));
  return *token->current();
}

absl::StatusOr<ClientSecurity> OpenClientSecurity(const TlsFiles& given, const std::string& token_file) {
  ClientSecurity security;
  if (const std::string path = TokenFileOr(token_file); !path.empty()) {
    PS_ASSIGN_OR_RETURN(security.token, OpenToken(path));
  }
  const TlsFiles files = WithEnvironment(given);
  if (files.empty()) return security;
  if (files.ca.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("certificate ", files.cert.empty() ? files.key : files.cert,
                     " is of no use without the CA of the servers: name it with --tls-ca (PENSTOCK_TLS_CA, tls_ca= in "
                     "Python); system: those that this host trusts"));
  }
  PS_ASSIGN_OR_RETURN(const std::shared_ptr<LiveCertificates> certificates, LiveCertificates::Load(files));
  PS_RETURN_IF_ERROR(certificates->Watch());
  security.certificates = certificates;
  return security;
}

}  // namespace penstock::net
