#include "pipeline/storage/files.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/match.h"
#include "pipeline/storage/forwarding_storage.h"
#include "pipeline/storage/object/object_name.h"
#include "pipeline/storage/posix_storage.h"

namespace penstock {
namespace {

// Threads for near files. Calls such as opening a file block on storage there too.
constexpr int kNearThreads = 4;

std::atomic<ObjectStorage*> objects_made{nullptr};

// The process's storages of URLs.
std::vector<UrlStorage> UrlStorages() {
  return {
      {ObjectSchemes(), [] { return static_cast<Storage*>(Objects()); }},
  };
}

class Files final : public ForwardingStorage {
 public:
  Files(Storage* local, std::vector<UrlStorage> others) : local_(local) {
    for (const UrlStorage& other : others) {
      for (const std::string& scheme : other.schemes) schemes_.emplace_back(scheme + "://", other.storage);
    }
  }

  // Answered without a storage that no name has needed.
  bool IsLocal(const std::string& name) const override { return Find(name) == nullptr; }
  std::vector<std::string> Schemes() const override {
    std::vector<std::string> all;
    for (const auto& [prefix, storage] : schemes_) all.push_back(prefix.substr(0, prefix.find(':')));
    return all;
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
  using Storages = std::pair<std::string, Storage* (*)()>;

  const Storages* Find(const std::string& name) const {
    const auto found = std::find_if(schemes_.begin(), schemes_.end(),
                                    [&](const Storages& each) { return absl::StartsWith(name, each.first); });
    return found == schemes_.end() ? nullptr : &*found;
  }
  Storage* Of(const std::string& name) const override {
    const Storages* const found = Find(name);
    return found == nullptr ? local_ : found->second();
  }

  Storage* const local_;
  std::vector<Storages> schemes_;  // with the prefix of their names, such as "s3://"
};

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

Storage* AnyFiles() {
  static Storage* const files = FilesBy(LocalFiles()).release();
  return files;
}

std::unique_ptr<Storage> FilesBy(Storage* local, std::vector<UrlStorage> others) {
  return std::make_unique<Files>(local, std::move(others));
}

std::unique_ptr<Storage> FilesBy(Storage* local) { return FilesBy(local, UrlStorages()); }

FarFiles::FarFiles(int threads)
    : threads_now_(threads),
      far_(threads > 0),
      threads_(threads > 0 ? threads : kNearThreads, "ps-read"),
      local_(MakePosixStorage(&threads_, &far_)),
      storage_(FilesBy(local_.get())) {}

void FarFiles::SetThreads(int threads) {
  threads_now_.store(std::min(threads, threads_.GrowTo(threads)));
  far_.store(threads > 0);
}

}  // namespace penstock
