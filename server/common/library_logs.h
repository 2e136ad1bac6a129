// Redirects output that libraries would print on stderr.
#ifndef PENSTOCK_SERVER_COMMON_LIBRARY_LOGS_H_
#define PENSTOCK_SERVER_COMMON_LIBRARY_LOGS_H_

namespace penstock::server {

// Logs all further lines of gRPC and protobuf in the daemon's log, with the library's name. The callers of the image
// libraries keep these silent, because their messages are part of the status. Call it after SetUpLogging.
void RouteLibraryLogs();

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_COMMON_LIBRARY_LOGS_H_
