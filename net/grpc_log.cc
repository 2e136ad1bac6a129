#include "net/grpc_log.h"

#include <grpc/support/log.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace penstock::net {
namespace {

using Say = void (*)(GrpcLogLevel, const char*, int, const char*);
std::atomic<Say> say_to{nullptr};

bool AllWanted() { return std::getenv("GRPC_VERBOSITY") != nullptr; }

bool IsWanted(const gpr_log_func_args* line) {
  static const bool all = AllWanted();
  return all || std::strstr(line->message, "assertion failed") != nullptr ||
         (say_to.load() != nullptr && std::strstr(line->message, "Handshake failed") != nullptr);
}

void Log(gpr_log_func_args* line) {
  if (!IsWanted(line)) return;
  const Say say = say_to.load();
  if (say == nullptr) {
    std::fprintf(stderr, "gRPC, %s:%d: %s\n", line->file, line->line, line->message);
    return;
  }
  const GrpcLogLevel level = line->severity == GPR_LOG_SEVERITY_ERROR  ? GrpcLogLevel::kError
                             : line->severity == GPR_LOG_SEVERITY_INFO ? GrpcLogLevel::kInfo
                                                                       : GrpcLogLevel::kDebug;
  say(level, line->file, line->line, line->message);
}

}  // namespace

void QuietGrpcLog() {
  if (!AllWanted()) gpr_set_log_function(Log);
}

void RouteGrpcLog(Say say) {
  say_to = say;
  gpr_log_verbosity_init();  // gRPC logs nothing before its own initialization
  gpr_set_log_function(Log);
}

}  // namespace penstock::net
