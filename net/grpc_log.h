// Control of gRPC's own log lines.
#ifndef PENSTOCK_NET_GRPC_LOG_H_
#define PENSTOCK_NET_GRPC_LOG_H_

namespace penstock::net {

// Silences gRPC's log, because the project's messages report the same errors in the user's terms. Only the assertion
// that ends the process is still printed. The environment variable GRPC_VERBOSITY restores the log. Call this first in
// main.
void QuietGrpcLog();

enum class GrpcLogLevel { kDebug, kInfo, kError };
// Passes all of gRPC's log lines, including those that GRPC_VERBOSITY enables, to `say` instead of stderr. `say` may
// run on any thread.
void RouteGrpcLog(void (*say)(GrpcLogLevel level, const char* file, int line, const char* text));

}  // namespace penstock::net

#endif  // PENSTOCK_NET_GRPC_LOG_H_
