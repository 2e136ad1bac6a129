#include "transport/peer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/glob.h"
#include "base/host_key.h"

namespace penstock::transport {

Peer Peer::Grpc(std::string_view uri) {
  const size_t scheme = uri.find(':');
  if (uri.substr(0, scheme) == "inproc") return InProcess();
  const std::string address(uri.substr(scheme == std::string_view::npos ? 0 : scheme + 1));
  return Network(absl::StrReplaceAll(address, {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}}));
}

std::string Peer::Host() const {
  if (kind == Kind::kHost) return absl::StrCat("user ", uid);
  if (kind != Kind::kNetwork) return "";
  std::string_view host = std::string_view(address).substr(0, address.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return HostKey(host);
}

absl::Status Peer::MayAccess(std::string_view job) const {
  const auto matches = [job](const std::string& glob) { return MatchesGlob(glob, job); };
  if (jobs.empty() || std::any_of(jobs.begin(), jobs.end(), matches)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "'", name, "' may not access ", job.empty() ? "all jobs" : absl::StrCat("job '", std::string(job), "'"),
      ", only ", absl::StrJoin(jobs, ", "), "; an operator changes that in the file of --tokens"));
}

std::string Peer::ToString() const {
  switch (kind) {
    case Kind::kUnknown:
      return "unknown";
    case Kind::kNetwork:
      return address;
    case Kind::kHost:
      return absl::StrCat("user ", uid, ", process ", pid);
    case Kind::kInProcess:
      return "this process";
    case Kind::kSimulated:
      return absl::StrCat("simulated host ", address);
  }
  return "unknown";
}

}  // namespace penstock::transport
