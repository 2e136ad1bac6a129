// One HTTP GET with a deadline, for `penstock health`.
#ifndef PENSTOCK_CLIENT_CLI_HTTP_PROBE_H_
#define PENSTOCK_CLIENT_CLI_HTTP_PROBE_H_

#include <chrono>
#include <string>

#include "absl/status/statusor.h"
#include "net/address.h"
#include "net/tls/certificates.h"

namespace penstock::cli {

struct ProbeAnswer {
  int status = 0;
  std::string body;  // at most 64 KiB; longer ones are cut
};

// How the probe uses TLS.
struct ProbeTls {
  net::Certificates certificates;  // the CA, and optionally a certificate with its key
  std::string name;                // name that the server's certificate must be for; "": the host of the address
};

// Sends GET `path` to `address` and reads the answer, over TLS if `tls` is not null. Blocks until `timeout` at most,
// plus the time to look up the name of the host. Tries the addresses of a name one after the other.
//   OK                  an HTTP answer with any status
//   Unavailable         no connection
//   DeadlineExceeded    no complete answer in time
//   FailedPrecondition  something else than HTTP answered, or the server's certificate is invalid
absl::StatusOr<ProbeAnswer> ProbeHttp(const net::Address& address, const std::string& path,
                                      std::chrono::milliseconds timeout, const ProbeTls* tls = nullptr);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_HTTP_PROBE_H_
