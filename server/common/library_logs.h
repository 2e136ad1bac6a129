// Redirects output that libraries would print on stderr.
#ifndef PENSTOCK_SERVER_COMMON_LIBRARY_LOGS_H_
#define PENSTOCK_SERVER_COMMON_LIBRARY_LOGS_H_

namespace penstock::server {

// Logs all later lines of gRPC, and of protobuf before 22.0, in the daemon's log, with the library's name. Callers of
// image libraries silence the libraries, whose messages are part of the status. Call it after SetUpLogging.
void RouteLibraryLogs();

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_COMMON_LIBRARY_LOGS_H_
