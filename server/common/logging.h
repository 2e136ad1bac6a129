// The daemon's log, on spdlog. Code logs with spdlog::info(...) and friends.
#ifndef PENSTOCK_SERVER_COMMON_LOGGING_H_
#define PENSTOCK_SERVER_COMMON_LOGGING_H_

#include <string>

#include "absl/status/status.h"

namespace penstock::server {

// Sets the process's logger: lines on standard error, flushed from `info` up. `level` is trace | debug | info | warn |
// error; "" is info. InvalidArgument names any other level. `json`: one object per line, {"time", "level", "thread",
// "message"}, for collectors. Call once, early, from one thread. See also library_logs.h.
absl::Status SetUpLogging(const std::string& level, bool json);

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_COMMON_LOGGING_H_
