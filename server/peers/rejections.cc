#include "server/peers/rejections.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace penstock::server {
namespace {

constexpr size_t kMostMessageBytes = 512;

}  // namespace

std::string_view NameOf(RejectionReason reason) {
  switch (reason) {
    case RejectionReason::kProtocol:
      return "protocol";
    case RejectionReason::kUnauthenticated:
      return "unauthenticated";
    case RejectionReason::kForbidden:
      return "forbidden";
    case RejectionReason::kLimit:
      return "limit";
    case RejectionReason::kOther:
    case RejectionReason::kCount:
      break;
  }
  return "other";
}

RejectionReason ReasonOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnauthenticated:
      return RejectionReason::kUnauthenticated;
    case absl::StatusCode::kPermissionDenied:
      return RejectionReason::kForbidden;
    case absl::StatusCode::kResourceExhausted:
      return RejectionReason::kLimit;
    default:
      return RejectionReason::kOther;
  }
}

Rejected RejectionOf(const transport::Peer& peer, const absl::Status& status) {
  return {ReasonOf(status), peer.Host(), peer.name, std::string(status.message())};
}

void Rejections::Add(const Rejected& rejected) {
  counts_[static_cast<size_t>(rejected.reason)].fetch_add(1, std::memory_order_relaxed);
  const Nanos now = clock_->Now();
  bool is_news = false;
  {
    MutexLock lock(&mutex_);
    const Key key(rejected.host, rejected.name, rejected.reason);
    if (callers_.size() >= kMostCallers && !callers_.contains(key)) {
      callers_.erase(std::min_element(callers_.begin(), callers_.end(),
                                      [](const auto& a, const auto& b) { return a.second.last < b.second.last; }));
    }
    Caller& caller = callers_[key];
    if (now - caller.last > kRemembered) caller.count = 0;
    is_news = ++caller.count == 1 && news_.Take("", now);
    caller.last = now;
    caller.message = TruncatedUtf8(rejected.message, kMostMessageBytes);
  }
  if (is_news && on_new_ != nullptr) on_new_(rejected);
}

Rejections::Counts Rejections::Get() const {
  Counts counts = {};
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = counts_[i].load(std::memory_order_relaxed);
  return counts;
}

void Rejections::CopyTo(google::protobuf::RepeatedPtrField<v1::RejectedCaller>* out) const {
  const Nanos now = clock_->Now();
  out->Clear();
  {
    MutexLock lock(&mutex_);
    for (const auto& [key, caller] : callers_) {
      if (now - caller.last > kRemembered) continue;
      v1::RejectedCaller& added = *out->Add();
      added.set_host(std::get<0>(key));
      added.set_name(std::get<1>(key));
      added.set_reason(std::string(NameOf(std::get<2>(key))));
      added.set_message(caller.message);
      added.set_count(caller.count);
      added.set_seconds_since_last(static_cast<uint64_t>(std::max<Nanos>(now - caller.last, 0) / kSecond));
    }
  }
  std::stable_sort(out->begin(), out->end(), [](const v1::RejectedCaller& a, const v1::RejectedCaller& b) {
    return a.seconds_since_last() < b.seconds_since_last();
  });
}

net::OnRejected RejectConnections(std::shared_ptr<Rejections> rejections) {
  return [rejections = std::move(rejections)](const std::string& host, const std::string& reason) {
    rejections->Add({RejectionReason::kLimit, host, "", reason});
  };
}

transport::OnRejectedPeer RejectPeers(std::shared_ptr<Rejections> rejections) {
  return [rejections = std::move(rejections)](const transport::Peer& peer, const absl::Status& status) {
    rejections->Add(RejectionOf(peer, status));
  };
}

}  // namespace penstock::server
