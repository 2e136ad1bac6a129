#include "server/audit/audit_log.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <future>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"

namespace penstock::server {
namespace {

constexpr size_t kMostWaiting = 4096;
constexpr size_t kMostTextBytes = 512;  // limit of an object or a message, which clients choose

}  // namespace

std::string AuditLines::LineOf(const transport::Peer& peer, std::string_view call, std::string_view object,
                               const absl::Status& outcome, Nanos now, absl::Time time) {
  uint64_t left_out = 0;
  {
    MutexLock lock(&mutex_);
    std::string key = peer.Host();
    if (allowances_.size() >= kMostPeers && allowances_.count(key) == 0) key = "";
    const auto [found, is_new] = allowances_.try_emplace(key);
    Allowance& allowance = found->second;
    if (!is_new) allowance.lines = std::min(kBurst, allowance.lines + InSeconds(now - allowance.at) * kPerSecond);
    allowance.at = now;
    if (allowance.lines < 1) {
      ++allowance.left_out;
      return "";
    }
    --allowance.lines;
    left_out = std::exchange(allowance.left_out, 0);
  }
  Json json;
  json.Field("time", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone()));
  json.Field("rpc", std::string(call.substr(call.rfind('.') + 1))).Field("peer", peer.ToString());
  if (!peer.name.empty()) {
    json.Field("name", peer.name);
  } else if (!peer.certificate_names.empty()) {
    json.Field("name", TruncatedUtf8(peer.certificate_names[0], kMostTextBytes));
  }
  if (!object.empty()) json.Field("object", TruncatedUtf8(object, kMostTextBytes));
  json.Field("outcome", absl::StatusCodeToString(outcome.code()));
  if (!outcome.ok()) json.Field("message", TruncatedUtf8(std::string(outcome.message()), kMostTextBytes));
  if (left_out > 0) json.Field("left_out", left_out);
  return json.Object();
}

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat("cannot open the audit log ", path));
  return std::unique_ptr<AuditLog>(new AuditLog(path, fd));
}

AuditLog::AuditLog(std::string path, int fd) : path_(std::move(path)), fd_(fd), writer_(1, "ps-audit") {}

AuditLog::~AuditLog() {
  writer_.Stop();
  close(fd_);
}

void AuditLog::Flush(std::chrono::nanoseconds within) {
  // Tasks of one thread run in their order, so all lines are written when this one runs.
  auto done = std::make_shared<std::promise<void>>();
  writer_.Post([done] { done->set_value(); });
  done->get_future().wait_for(within);
}

void AuditLog::Record(const transport::Peer& peer, std::string_view call, std::string_view object,
                      const absl::Status& outcome) {
  std::string line = lines_.LineOf(peer, call, object, outcome, Clock::Real()->Now(), absl::Now());
  if (line.empty()) return;
  if (writer_.TryPost([this, line = std::move(line)] { Write(line); }, kMostWaiting)) return;
  MutexLock lock(&failed_mutex_);
  if (std::exchange(failed_, "full") != "full")
    spdlog::error("audit log {}: the disk is too slow; lines are lost", path_);
}

void AuditLog::Write(const std::string& line) {
  const std::string text = line + "\n";
  const ssize_t written = write(fd_, text.data(), text.size());  // one call, so that lines stay whole
  const std::string why = written == static_cast<ssize_t>(text.size()) ? ""
                          : written < 0                                ? std::strerror(errno)
                                                                       : "the disk is full";
  MutexLock lock(&failed_mutex_);
  if (why == failed_) return;
  failed_ = why;
  if (!why.empty()) spdlog::error("audit log {}: {}; lines are lost", path_, why);
}

}  // namespace penstock::server
