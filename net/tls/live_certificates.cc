#include "net/tls/live_certificates.h"

#include "base/status_macros.h"

namespace penstock::net {

absl::StatusOr<std::shared_ptr<LiveCertificates>> LiveCertificates::Load(const TlsFiles& files,
                                                                         const Options& options) {
  const auto read = [files, now = options.now] { return ReadCertificates(files, now()); };
  PS_ASSIGN_OR_RETURN(auto followed, FollowedFile<Certificates>::Load(read, options.on_change));
  return std::shared_ptr<LiveCertificates>(new LiveCertificates(files, std::move(followed)));
}

}  // namespace penstock::net
