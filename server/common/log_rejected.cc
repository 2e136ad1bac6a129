#include "server/common/log_rejected.h"

#include "server/common/log_fields.h"

namespace penstock::server {

void LogRejected(const Rejected& rejected) {
  LogWarn({.peer = rejected.host}, "rejected a caller at {}{} ({}): {}. `penstock status` counts its next rejections",
          rejected.host, rejected.name.empty() ? "" : ", '" + rejected.name + "'", NameOf(rejected.reason),
          rejected.message);
}

}  // namespace penstock::server
