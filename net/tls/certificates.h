// Certificates for TLS from PEM files, and their checks.
#ifndef PENSTOCK_NET_TLS_CERTIFICATES_H_
#define PENSTOCK_NET_TLS_CERTIFICATES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace penstock::net {

// Paths of PEM files. An empty path is not configured.
struct TlsFiles {
  std::string cert;  // this process's certificate, followed by its intermediate certificates
  std::string key;   // the certificate's private key, without a password
  std::string ca;    // authorities that sign the certificates of peers; "system": those that this host trusts

  // Whether this process asks its clients for certificates: only if it has authorities of its own.
  bool verifies_clients() const { return !ca.empty() && ca != "system"; }
  bool empty() const { return cert.empty() && key.empty() && ca.empty(); }
  bool operator==(const TlsFiles&) const = default;
};

// The contents of TlsFiles. Unconfigured files are "".
struct Certificates {
  std::string cert, key, ca;
  absl::Time begins = absl::InfinitePast();        // the latest start of the certificates in `cert`
  absl::Time expires = absl::InfiniteFuture();     // their earliest end
  absl::Time ca_expires = absl::InfiniteFuture();  // the latest end of the authorities in `ca`
  std::vector<std::string> names;                  // DNS names and IP addresses that the certificate is for

  bool operator==(const Certificates&) const = default;
};

// Reads the files, and checks that each has valid PEM, that the certificate is valid at `now`, and that the key belongs
// to it. Blocks for the reads. InvalidArgument names the file, the fault and the remedy; it also reports a certificate
// without a key, or a key without a certificate. NotFound: `ca` is "system", and this host has no trusted authorities.
// Other errors are those of ReadWholeFile.
absl::StatusOr<Certificates> ReadCertificates(const TlsFiles& files, absl::Time now);

// Returns whether the certificate is for `host`, a DNS name or an IP address, by the rules of TLS: wildcards cover one
// label, and the common name does not count.
bool IsForHost(const Certificates& certificates, const std::string& host);

}  // namespace penstock::net

#endif  // PENSTOCK_NET_TLS_CERTIFICATES_H_
