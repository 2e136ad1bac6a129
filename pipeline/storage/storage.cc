#include "pipeline/storage/storage.h"

#include <utility>

namespace penstock {

absl::StatusOr<std::unique_ptr<StoredFile>> Storage::OpenAndWait(const std::string& name, const CallOptions& options) {
  return WaitForCall<std::unique_ptr<StoredFile>>(
      [&](CallDone<std::unique_ptr<StoredFile>> done) { Open(name, options, std::move(done)); });
}

absl::StatusOr<StoredName> Storage::StatAndWait(const std::string& name, const CallOptions& options) {
  return WaitForCall<StoredName>([&](CallDone<StoredName> done) { Stat(name, options, std::move(done)); });
}

absl::StatusOr<std::vector<StoredEntry>> Storage::ListAndWait(const std::string& folder, const CallOptions& options) {
  return WaitForCall<std::vector<StoredEntry>>(
      [&](CallDone<std::vector<StoredEntry>> done) { List(folder, options, std::move(done)); });
}

}  // namespace penstock
