#include "pipeline/storage/files.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "base/url.h"
#include "pipeline/storage/forwarding_storage.h"
#include "pipeline/storage/object/common/object_name.h"
#include "pipeline/storage/posix_storage.h"

namespace penstock::storage {
namespace {

// Threads for near files. Calls such as opening a file block on storage there too.
constexpr int kLocalThreads = 4;

std::atomic<ObjectStorage*> objects_made{nullptr};

class Files final : public ForwardingStorage {
 public:
  Files(Storage* local, std::vector<UrlStorage> others) : local_(local), others_(std::move(others)) {}

  // Needs no storage.
  bool IsLocal(const std::string& name) const override { return Find(name) == nullptr; }
  std::vector<std::string> Schemes() const override {
    std::vector<std::string> all;
    for (const UrlStorage& other : others_) all.push_back(other.scheme);
    return all;
  }
  absl::Status CheckName(const std::string& name) const override {
    if (const UrlStorage* const found = Find(name); found != nullptr) return found->storage()->CheckName(name);
    const std::string why = WhyNoUrl(name, Schemes());
    return why.empty() ? absl::OkStatus() : absl::InvalidArgumentError(why);
  }
  // A local storage answers on the caller's thread.
  absl::StatusOr<std::unique_ptr<StoredFile>> OpenAndWait(const std::string& name,
                                                          const CallOptions& options) override {
    return Of(name)->OpenAndWait(name, options);
  }
  absl::StatusOr<StoredName> StatAndWait(const std::string& name, const CallOptions& options) override {
    return Of(name)->StatAndWait(name, options);
  }
  absl::StatusOr<std::vector<StoredEntry>> ListAndWait(const std::string& folder, const CallOptions& options) override {
    return Of(folder)->ListAndWait(folder, options);
  }

 private:
  const UrlStorage* Find(absl::string_view name) const {
    for (const UrlStorage& other : others_) {
      absl::string_view rest = name;
      if (absl::ConsumePrefix(&rest, other.scheme) && absl::StartsWith(rest, "://")) return &other;
    }
    return nullptr;
  }
  Storage* Of(const std::string& name) const override {
    const UrlStorage* const found = Find(name);
    return found == nullptr ? local_ : found->storage();
  }

  Storage* const local_;
  const std::vector<UrlStorage> others_;
};

// Returns a table of the schemes of `storage`.
std::vector<UrlStorage> TableOf(Storage* storage) {
  std::vector<UrlStorage> all;
  for (std::string& scheme : storage->Schemes()) all.push_back({std::move(scheme), [storage] { return storage; }});
  return all;
}

}  // namespace

ObjectStorage* Objects() {
  static auto* const objects = [] {
    auto* const made = new ObjectStorage(ObjectStorage::Options::FromEnvironment());
    objects_made.store(made);
    return made;
  }();
  return objects;
}

ObjectCounts CountsOfObjects() {
  const ObjectStorage* const objects = objects_made.load();
  return objects == nullptr ? ObjectCounts() : objects->counts();
}

std::vector<ObjectSchemeCounts> SchemeCountsOfObjects() {
  const ObjectStorage* const objects = objects_made.load();
  return objects == nullptr ? std::vector<ObjectSchemeCounts>() : objects->scheme_counts();
}

int64_t CredentialsEndOfObjects() {
  const ObjectStorage* const objects = objects_made.load();
  return objects == nullptr ? 0 : objects->credentials_end();
}

Storage* AnyFiles() {
  static Storage* const files = FilesBy(LocalFiles()).release();
  return files;
}

std::vector<UrlStorage> UrlStorages() {
  std::vector<UrlStorage> all;
  for (const std::string& scheme : ObjectSchemes())
    all.push_back({scheme, [] { return static_cast<Storage*>(Objects()); }});
  return all;
}

std::unique_ptr<Storage> FilesBy(Storage* local, std::vector<UrlStorage> others) {
  return std::make_unique<Files>(local, std::move(others));
}

RemoteFiles::RemoteFiles(int threads, Storage* urls)
    : threads_now_(threads),
      remote_(threads > 0),
      threads_(threads > 0 ? threads : kLocalThreads, "ps-read"),
      local_(MakePosixStorage(&threads_, &remote_)),
      storage_(FilesBy(local_.get(), TableOf(urls))) {}

void RemoteFiles::SetThreads(int threads) {
  threads_now_.store(std::min(threads, threads_.GrowTo(threads)));
  remote_.store(threads > 0);
}

}  // namespace penstock::storage
