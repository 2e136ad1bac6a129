#include "transport/peer.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace penstock::transport {

Peer Peer::Grpc(std::string_view uri) {
  const size_t scheme = uri.find(':');
  if (uri.substr(0, scheme) == "inproc") return InProcess();
  const std::string address(uri.substr(scheme == std::string_view::npos ? 0 : scheme + 1));
  return Network(absl::StrReplaceAll(address, {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}}));
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
