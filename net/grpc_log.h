// gRPC's own log lines.
#ifndef PENSTOCK_NET_GRPC_LOG_H_
#define PENSTOCK_NET_GRPC_LOG_H_

namespace penstock {

// gRPC reports on stderr what our own messages say in a user's words. Keeps it silent, but for the broken assertion
// that ends the process; the environment's GRPC_VERBOSITY brings all of it back. Call it first in main.
void QuietGrpcLog();

enum class GrpcLogLevel { kDebug, kInfo, kError };
// From now on its lines, those that GRPC_VERBOSITY brings back too, are given to `say`, from any thread, and nothing of
// them to stderr.
void RouteGrpcLog(void (*say)(GrpcLogLevel level, const char* file, int line, const char* text));

}  // namespace penstock

#endif  // PENSTOCK_NET_GRPC_LOG_H_
