// A worker's identity: its id across restarts, and its name in its certificate.
#ifndef PENSTOCK_SERVER_WORKER_LINK_IDENTITY_H_
#define PENSTOCK_SERVER_WORKER_LINK_IDENTITY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/runtime/random_source.h"
#include "net/tls/live_certificates.h"

namespace penstock::worker {

// Returns the id in `state_dir`/worker_id. At the first start it generates an id (host name and random digits) and
// writes it. Returns DataLoss if the file has no valid id; the error names the remedy.
absl::StatusOr<std::string> LoadOrMakeWorkerId(const std::string& state_dir, RandomSource* random);

// Returns a random number other than 0, a different one at every start.
uint64_t NewIncarnation(RandomSource* random);

// Returns the name under which clients verify the worker: `wanted` or, if that is empty, `host`, to which they connect.
// Returns FailedPrecondition if the certificate is not for that name; the message names the file and its names.
absl::StatusOr<std::string> NameInCertificate(const net::LiveCertificates& certificates, const std::string& wanted,
                                              const std::string& host);

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_LINK_IDENTITY_H_
