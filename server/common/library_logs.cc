#include "server/common/library_logs.h"

#include <google/protobuf/stubs/common.h>
#include <spdlog/spdlog.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "net/grpc_log.h"
#include "net/tls/handshake_fault.h"

// Since 22.0 protobuf logs through Abseil.
#if GOOGLE_PROTOBUF_VERSION < 4022000
#include <google/protobuf/stubs/logging.h>
#endif

namespace penstock::server {
namespace {

// Logs a failed handshake, each reason at most once a minute, because every process that reaches the port can cause it.
void LogHandshake(const std::string& reason) {
  struct Told {
    absl::Time at = absl::InfinitePast();
    uint64_t since = 0;  // handshakes that failed for the reason after that
  };
  static auto* const mutex = new Mutex;
  static auto* const told = new std::map<std::string, Told>;
  const absl::Time now = absl::Now();
  uint64_t more = 0;
  {
    MutexLock lock(mutex);
    Told& last = (*told)[reason];
    if (now - last.at < absl::Minutes(1)) {
      ++last.since;
      return;
    }
    more = std::exchange(last, {now, 0}).since;
  }
  spdlog::warn("a TLS handshake failed: {}{}", reason, more > 0 ? absl::StrCat(" (and ", more, " before)") : "");
}

void SayOfGrpc(net::GrpcLogLevel level, const char* file, int line, const char* text) {
  const auto as = level == net::GrpcLogLevel::kError  ? spdlog::level::err
                  : level == net::GrpcLogLevel::kInfo ? spdlog::level::info
                                                      : spdlog::level::debug;
  const std::string handshake = net::ExplainHandshakeLog(text);
  if (handshake.empty()) return spdlog::log(as, "gRPC, {}:{}: {}", file, line, text);
  net::CountFailedHandshake();
  LogHandshake(handshake);
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
