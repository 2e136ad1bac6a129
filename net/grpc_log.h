// Controls gRPC's own log.
#ifndef PENSTOCK_NET_GRPC_LOG_H_
#define PENSTOCK_NET_GRPC_LOG_H_

namespace penstock::net {

// Silences gRPC's log, because the project's messages report the same errors in the user's terms. gRPC still prints the
// failed assertion that ends the process. If the environment sets GRPC_VERBOSITY, does nothing. Call this first in
// main.
void QuietGrpcLog();

enum class GrpcLogLevel { kDebug, kInfo, kError };
// Passes gRPC's log lines to `say` instead of stderr: failed assertions, failed TLS handshakes, and if the environment
// sets GRPC_VERBOSITY, the lines that it enables. `say` may run on any thread.
void RouteGrpcLog(void (*say)(GrpcLogLevel level, const char* file, int line, const char* text));

}  // namespace penstock::net

#endif  // PENSTOCK_NET_GRPC_LOG_H_
