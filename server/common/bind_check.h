// Checks whether a plaintext server may listen at an address.
#ifndef PENSTOCK_SERVER_COMMON_BIND_CHECK_H_
#define PENSTOCK_SERVER_COMMON_BIND_CHECK_H_

#include <string>

#include "absl/status/status.h"

namespace penstock::server {

// Returns OK if `listen` is a loopback address, or if `insecure`. Otherwise returns FailedPrecondition, which names the
// address and the remedies. Returns InvalidArgument if `listen` is not an address.
absl::Status CheckPlaintextBind(const std::string& listen, bool insecure);

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_COMMON_BIND_CHECK_H_
