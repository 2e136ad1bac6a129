// Checks whether a plaintext server may listen at an address.
#ifndef PENSTOCK_SERVER_COMMON_BIND_CHECK_H_
#define PENSTOCK_SERVER_COMMON_BIND_CHECK_H_

#include <string>

#include "absl/status/status.h"

namespace penstock::server {

struct PlaintextRules {
  bool insecure = false;  // allow it on other addresses than loopback
  bool tokens = false;    // callers send tokens, so `insecure` does not count
};

// Returns OK if `listen` is a loopback address, or if the rules allow plaintext there. Otherwise returns
// FailedPrecondition, which names the address and the remedies. Returns InvalidArgument if `listen` is not an address.
absl::Status CheckPlaintextBind(const std::string& listen, const PlaintextRules& rules);

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_COMMON_BIND_CHECK_H_
