// Certificates that follow their files: a changed file takes effect without a restart.
#ifndef PENSTOCK_NET_TLS_LIVE_CERTIFICATES_H_
#define PENSTOCK_NET_TLS_LIVE_CERTIFICATES_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/runtime/thread_pool.h"
#include "net/tls/certificates.h"

namespace penstock::net {

// Thread-safe. Certificates in use always pass the checks of certificates.h, except that they may have expired since.
class LiveCertificates {
 public:
  // The result of a look at the files that differs from the last one.
  struct Change {
    std::shared_ptr<const Certificates> current;  // what new connections use
    bool replaced = false;                        // `current` is new
    absl::Status fault;                           // why the files are not used, such as their end
  };
  struct Options {
    std::function<absl::Time()> now = [] { return absl::Now(); };
    std::function<void(const Change&)> on_change = nullptr;  // called by Refresh, without locks
  };

  // Reads the files. Errors are those of ReadCertificates.
  static absl::StatusOr<std::shared_ptr<LiveCertificates>> Load(const TlsFiles& files, Options options);
  static absl::StatusOr<std::shared_ptr<LiveCertificates>> Load(const TlsFiles& files) {
    return Load(files, Options());
  }

  // Waits for a look at the files that is under way.
  ~LiveCertificates();

  // Starts a thread that calls Refresh every 2 s. Must be called at most once.
  void Watch();

  // Reads the files and uses them if they are valid. Otherwise keeps the current certificates. A pair of files is
  // replaced one by one, so a fault counts only if two looks in succession find it. Blocks for the reads.
  void Refresh();

  const TlsFiles& files() const { return files_; }
  // Returns the certificates for new connections. The pointer changes when the files do.
  std::shared_ptr<const Certificates> current() const;
  // Returns why the files are not used; a certificate that has expired is a reason. OK: they are used.
  absl::Status fault() const;

 private:
  LiveCertificates(TlsFiles files, Options options, Certificates certificates);
  void LookAgain();

  const TlsFiles files_;
  const Options options_;
  Mutex refreshing_;                                     // held by a Refresh, also while it reads files: one at a time
  absl::Status suspected_ ABSL_GUARDED_BY(refreshing_);  // the fault that the last look found
  mutable Mutex mutex_;
  std::shared_ptr<const Certificates> current_ ABSL_GUARDED_BY(mutex_);
  absl::Status fault_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<ThreadPool> thread_;  // of Watch
};

}  // namespace penstock::net

#endif  // PENSTOCK_NET_TLS_LIVE_CERTIFICATES_H_
