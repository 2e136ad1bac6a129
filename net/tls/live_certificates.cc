#include "net/tls/live_certificates.h"

#include <utility>

#include "base/status_macros.h"

namespace penstock::net {
namespace {

constexpr Nanos kLookEvery = 2 * kSecond;

}  // namespace

absl::StatusOr<std::shared_ptr<LiveCertificates>> LiveCertificates::Load(const TlsFiles& files, Options options) {
  PS_ASSIGN_OR_RETURN(Certificates certificates, ReadCertificates(files, options.now()));
  return std::shared_ptr<LiveCertificates>(new LiveCertificates(files, std::move(options), std::move(certificates)));
}

LiveCertificates::LiveCertificates(TlsFiles files, Options options, Certificates certificates)
    : files_(std::move(files)),
      options_(std::move(options)),
      current_(std::make_shared<const Certificates>(std::move(certificates))) {}

LiveCertificates::~LiveCertificates() {
  if (thread_ != nullptr) thread_->Stop();
}

void LiveCertificates::Watch() {
  thread_ = std::make_unique<ThreadPool>(1, "tls-files");
  LookAgain();
}

void LiveCertificates::LookAgain() {
  thread_->PostAt(thread_->clock()->Now() + kLookEvery, [this] {
    Refresh();
    LookAgain();
  });
}

void LiveCertificates::Refresh() {
  MutexLock refreshing(&refreshing_);
  absl::StatusOr<Certificates> read = ReadCertificates(files_, options_.now());
  const bool again = !read.ok() && read.status() == suspected_;
  suspected_ = read.status();
  Change change;
  {
    MutexLock lock(&mutex_);
    const absl::Status before = fault_;
    if (read.ok()) {
      fault_ = absl::OkStatus();
      if (*read != *current_) {
        current_ = std::make_shared<const Certificates>(*std::move(read));
        change.replaced = true;
      }
    } else if (again) {
      fault_ = read.status();
    }
    if (!change.replaced && fault_ == before) return;
    change.current = current_;
    change.fault = fault_;
  }
  if (options_.on_change != nullptr) options_.on_change(change);
}

std::shared_ptr<const Certificates> LiveCertificates::current() const {
  MutexLock lock(&mutex_);
  return current_;
}

absl::Status LiveCertificates::fault() const {
  MutexLock lock(&mutex_);
  return fault_;
}

}  // namespace penstock::net
