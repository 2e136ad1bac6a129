#include "server/common/library_logs.h"

#include <google/protobuf/stubs/common.h>
#include <spdlog/spdlog.h>

#include <string>

#include "net/grpc_log.h"

// Since 22.0 protobuf logs through Abseil.
#if GOOGLE_PROTOBUF_VERSION < 4022000
#include <google/protobuf/stubs/logging.h>
#endif

namespace penstock::server {
namespace {

void SayOfGrpc(net::GrpcLogLevel level, const char* file, int line, const char* text) {
  const auto as = level == net::GrpcLogLevel::kError  ? spdlog::level::err
                  : level == net::GrpcLogLevel::kInfo ? spdlog::level::info
                                                      : spdlog::level::debug;
  spdlog::log(as, "gRPC, {}:{}: {}", file, line, text);
}

#if GOOGLE_PROTOBUF_VERSION < 4022000
void SayOfProtobuf(google::protobuf::LogLevel level, const char* file, int line, const std::string& text) {
  const auto as = level >= google::protobuf::LOGLEVEL_ERROR     ? spdlog::level::err
                  : level == google::protobuf::LOGLEVEL_WARNING ? spdlog::level::warn
                                                                : spdlog::level::info;
  spdlog::log(as, "protobuf, {}:{}: {}", file, line, text);
}
#endif

}  // namespace

void RouteLibraryLogs() {
  net::RouteGrpcLog(SayOfGrpc);
#if GOOGLE_PROTOBUF_VERSION < 4022000
  google::protobuf::SetLogHandler(SayOfProtobuf);
#endif
}

}  // namespace penstock::server
