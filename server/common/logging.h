// The daemon's log, on spdlog. Code logs with spdlog::info(...) and friends, or with those of log_fields.h.
#ifndef PENSTOCK_SERVER_COMMON_LOGGING_H_
#define PENSTOCK_SERVER_COMMON_LOGGING_H_

#include <string>

#include "absl/status/status.h"

namespace penstock::server {

// Sets the process's logger: lines on standard error, flushed from `info` up. `level` is trace | debug | info | warn |
// error; "" is info. InvalidArgument names any other level. `json`: one object per line, for collectors: {"time",
// "level", "thread", "message"}, and the fields of log_fields.h that the line has. Otherwise a line has time, level and
// message. Call once, early, from one thread. See also library_logs.h.
absl::Status SetUpLogging(const std::string& level, bool json);

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_COMMON_LOGGING_H_
