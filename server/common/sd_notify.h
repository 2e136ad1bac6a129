// Reports the service's state to systemd: the datagram protocol of sd_notify(3), without libsystemd.
#ifndef PENSTOCK_SERVER_COMMON_SD_NOTIFY_H_
#define PENSTOCK_SERVER_COMMON_SD_NOTIFY_H_

#include <string>

#include "absl/status/status.h"

namespace penstock::server {

// Sends `state`, such as "READY=1", "STOPPING=1" or "STATUS=serving 3 jobs", to the socket that the environment
// variable NOTIFY_SOCKET names (a path, or '@' and a name in the abstract namespace). If the variable is unset or
// empty, no service manager waits for the state; then does nothing and returns OK.
absl::Status SdNotify(const std::string& state);

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_COMMON_SD_NOTIFY_H_
