#include "server/common/bind_check.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "net/address.h"

namespace penstock::server {

absl::Status CheckPlaintextBind(const std::string& listen, const PlaintextRules& rules) {
  PS_ASSIGN_OR_RETURN(const net::Address address, net::ParseAddress(listen));
  if (address.IsLoopback()) return absl::OkStatus();
  if (rules.tokens) {
    return absl::FailedPreconditionError(
        absl::StrCat("listening on ", listen,
                     " would let callers send their tokens in plaintext, which --insecure does not allow; "
                     "serve TLS with --tls-cert and --tls-key, or listen on 127.0.0.1:",
                     address.port));
  }
  if (rules.insecure) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "listening on ", listen,
      " would let the network read and command this daemon in plaintext; encrypt it with "
      "--tls-cert and --tls-key, listen on 127.0.0.1:",
      address.port, ", or allow it on a network that you trust with --insecure (insecure: true in the configuration)"));
}

}  // namespace penstock::server
