// Logs rejected callers.
#ifndef PENSTOCK_SERVER_COMMON_LOG_REJECTED_H_
#define PENSTOCK_SERVER_COMMON_LOG_REJECTED_H_

#include "server/peers/rejections.h"

namespace penstock::server {

// Logs a warning with the caller, the reason and the message.
void LogRejected(const Rejected& rejected);

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_COMMON_LOG_REJECTED_H_
