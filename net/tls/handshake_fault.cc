#include "net/tls/handshake_fault.h"

#include <atomic>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_mark.h"

namespace penstock::net {
namespace {

std::atomic<uint64_t> failed_handshakes{0};

std::string OfPlaintextClient(absl::string_view text) {
  if (!absl::StrContains(text, "Socket closed")) return "";
  return "it closed the connection. If it serves TLS, name the CA of its certificate with --tls-ca (PENSTOCK_TLS_CA, "
         "tls_ca= in Python)";
}

std::string OfTlsClient(absl::string_view text, const TlsFiles& files) {
  if (absl::StrContains(text, "wrong version number")) {
    return absl::StrCat("it serves plaintext, and this client has a CA (", files.ca,
                        "). Start it with --tls-cert and --tls-key, or leave out the CA");
  }
  // OpenSSL reports a signature by another authority of the same name as an error of its encoding.
  if (absl::StrContains(text, "certificate verify failed") || absl::StrContains(text, "asn1 encoding routines")) {
    return absl::StrCat("its certificate is not valid now, or not signed by the CA in ", files.ca,
                        ". Name the right CA with --tls-ca, or renew its --tls-cert");
  }
  if (absl::StrContains(text, "Ssl handshake failed")) {
    return absl::StrCat("the TLS handshake failed (", text.substr(text.rfind(':') + 1), ")");
  }
  if (absl::StrContains(text, "is not in peer certificate")) {
    return "its certificate is for other names than this address. Connect to a name in the certificate, or issue one "
           "for "
           "this name";
  }
  if (absl::StrContains(text, "Socket closed") && !files.cert.empty()) {
    return absl::StrCat("it closed the connection. If it rejects the certificate ", files.cert,
                        ", its log has the reason; name a certificate that its --tls-ca signs");
  }
  return "";
}

}  // namespace

absl::Status ExplainHandshake(absl::Status error, const ClientSecurity& security) {
  if (!absl::IsUnavailable(error)) return error;
  const std::string why = security.tls() ? OfTlsClient(error.message(), security.certificates->files())
                                         : OfPlaintextClient(error.message());
  return why.empty() ? error : Marked(kHandshakeFault, absl::Status(error.code(), why));
}

std::string ExplainHandshakeLog(std::string_view line) {
  const absl::string_view text(line.data(), line.size());
  if (!absl::StrContains(text, "Handshake failed")) return "";
  if (absl::StrContains(text, "wrong version number") || absl::StrContains(text, "http request")) {
    return "the other side speaks plaintext: it needs --tls-ca";
  }
  if (absl::StrContains(text, "certificate verify failed") || absl::StrContains(text, "asn1 encoding routines")) {
    return "the other side's certificate is not valid now, or not signed by --tls-ca";
  }
  if (absl::StrContains(text, "unknown ca") || absl::StrContains(text, "bad certificate") ||
      absl::StrContains(text, "certificate unknown") || absl::StrContains(text, "certificate expired")) {
    return "the other side rejects this process's certificate: its --tls-ca does not sign it, or it has expired";
  }
  return "the other side speaks another protocol, or ended the connection";
}

void CountFailedHandshake() { failed_handshakes.fetch_add(1, std::memory_order_relaxed); }

uint64_t FailedHandshakes() { return failed_handshakes.load(std::memory_order_relaxed); }

}  // namespace penstock::net
