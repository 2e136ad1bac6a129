// What libraries would print on stderr by themselves.
#ifndef PENSTOCK_SERVER_COMMON_LIBRARY_LOGS_H_
#define PENSTOCK_SERVER_COMMON_LIBRARY_LOGS_H_

namespace penstock {

// From now on lines of gRPC's and protobuf's are lines of the daemon's log, named by their library. (The image
// libraries are kept silent where they are called: their words are part of the status.) After SetUpLogging.
void RouteLibraryLogs();

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COMMON_LIBRARY_LOGS_H_
