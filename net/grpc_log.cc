#include "net/grpc_log.h"

#include <grpc/support/log.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace penstock {

void QuietGrpcLog() {
  if (std::getenv("GRPC_VERBOSITY") != nullptr) return;
  gpr_set_log_function([](gpr_log_func_args* line) {
    if (std::strstr(line->message, "assertion failed") == nullptr) return;
    std::fprintf(stderr, "gRPC, %s:%d: %s\n", line->file, line->line, line->message);
  });
}

}  // namespace penstock
