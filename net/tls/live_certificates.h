// Certificates that follow their files: a changed file takes effect without a restart.
#ifndef PENSTOCK_NET_TLS_LIVE_CERTIFICATES_H_
#define PENSTOCK_NET_TLS_LIVE_CERTIFICATES_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/runtime/followed_file.h"
#include "net/tls/certificates.h"

namespace penstock::net {

// Thread-safe. Certificates in use have passed the checks of certificates.h. They may have expired since.
class LiveCertificates {
 public:
  using Change = FollowedFile<Certificates>::Change;
  struct Options {
    std::function<absl::Time()> now = [] { return absl::Now(); };
    std::function<void(const Change&)> on_change = nullptr;  // as in FollowedFile
  };

  // Reads the files. Errors are those of ReadCertificates.
  static absl::StatusOr<std::shared_ptr<LiveCertificates>> Load(const TlsFiles& files, const Options& options);
  static absl::StatusOr<std::shared_ptr<LiveCertificates>> Load(const TlsFiles& files) {
    return Load(files, Options());
  }

  // As in FollowedFile. fault() also reports that the certificate in use has expired.
  absl::Status Watch() { return followed_->Watch("tls-files"); }
  void Refresh() { followed_->Refresh(); }
  std::shared_ptr<const Certificates> current() const { return followed_->current(); }
  absl::Status fault() const { return followed_->fault(); }

  const TlsFiles& files() const { return files_; }

 private:
  LiveCertificates(TlsFiles files, std::shared_ptr<FollowedFile<Certificates>> followed)
      : files_(std::move(files)), followed_(std::move(followed)) {}

  const TlsFiles files_;
  const std::shared_ptr<FollowedFile<Certificates>> followed_;
};

}  // namespace penstock::net

#endif  // PENSTOCK_NET_TLS_LIVE_CERTIFICATES_H_
