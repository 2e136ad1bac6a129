// A storage in memory that answers later, from another thread, and distinguishes states by a tag, as an object store
// does. It is an example of how to add a storage.
#ifndef PENSTOCK_TESTS_PIPELINE_STORAGE_MEMORY_STORAGE_H_
#define PENSTOCK_TESTS_PIPELINE_STORAGE_MEMORY_STORAGE_H_

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/runtime/thread_pool.h"
#include "pipeline/storage/call_queue.h"
#include "pipeline/storage/storage.h"

namespace penstock::storage {

// Names are "mem://bucket/folder/file".
class MemoryStorage final : public Storage {
 public:
  bool IsLocal(const std::string& name) const override { return false; }
  bool HasFolders(const std::string& name) const override { return true; }
  std::vector<std::string> Schemes() const override { return {"mem"}; }
  absl::Status CheckName(const std::string& name) const override {
    return absl::StartsWith(name, "mem://") ? absl::OkStatus() : absl::InvalidArgumentError(name);
  }
  absl::Status CheckOutput(const std::string& folder) const override { return absl::OkStatus(); }
  bool HasLowLatency(const std::string& name) const override { return false; }

  void Open(const std::string& name, const CallOptions& options, CallDone<std::unique_ptr<StoredFile>> done) override {
    calls_.Add(options, [this, name, listed = options.listed, done = std::move(done)](bool cancelled) mutable {
      absl::StatusOr<StoredName> found = Look(name, cancelled);
      if (listed && found.ok()) found->info = *listed;  // like a storage that opens without a request
      if (!found.ok()) {
        std::move(done)(found.status());
      } else if (found->kind != StoredEntry::Kind::kFile) {
        std::move(done)(absl::InvalidArgumentError(absl::StrCat(name, " is a folder")));
      } else {
        std::move(done)(std::make_unique<File>(this, name, found->info));
      }
    });
  }
  void Stat(const std::string& name, const CallOptions& options, CallDone<StoredName> done) override {
    calls_.Add(options, [this, name, done = std::move(done)](bool cancelled) mutable {
      std::move(done)(Look(name, cancelled));
    });
  }
  void List(const std::string& folder, const CallOptions& options, CallDone<std::vector<StoredEntry>> done) override {
    calls_.Add(options, [this, folder, done = std::move(done)](bool cancelled) mutable {
      if (cancelled) {
        std::move(done)(absl::CancelledError(folder));
        return;
      }
      std::vector<StoredEntry> entries;
      {
        MutexLock lock(&mutex_);
        const std::string below = absl::EndsWith(folder, "/") ? folder : folder + "/";
        for (const auto& [name, object] : objects_) {
          if (!absl::StartsWith(name, below)) continue;
          const std::string rest = name.substr(below.size());
          const size_t slash = rest.find('/');
          if (slash == std::string::npos) {
            entries.push_back({rest, StoredEntry::Kind::kFile, InfoOf(object)});
          } else if (entries.empty() || entries.back().name != rest.substr(0, slash)) {
            entries.push_back({rest.substr(0, slash), StoredEntry::Kind::kFolder});
          }
        }
      }
      std::move(done)(std::move(entries));
    });
  }

  absl::StatusOr<std::unique_ptr<NewFile>> Create(const std::string& name) override {
    return std::make_unique<New>(this, name);
  }
  absl::StatusOr<std::string> Put(const std::string& name, const std::string& content,
                                  const WriteCondition& condition = {}) override {
    MutexLock lock(&mutex_);
    if (!Holds(name, condition)) return absl::AbortedError(absl::StrCat(name, " is in another state"));
    Object& object = objects_[name];
    object = {content, absl::StrCat("\"etag-", ++puts_, "\"")};
    return object.tag;
  }
  absl::Status Remove(const std::string& name, const WriteCondition& condition = {}) override {
    MutexLock lock(&mutex_);
    if (!Holds(name, condition)) return absl::AbortedError(absl::StrCat(name, " is in another state"));
    objects_.erase(name);
    return absl::OkStatus();
  }
  // A new file is in its writer until it is complete, so there is nothing to remove.
  absl::Status RemoveUnfinished(const std::string& folder) override { return absl::OkStatus(); }

 private:
  struct Object {
    std::string content, tag;
  };

  class New final : public NewFile {
   public:
    New(MemoryStorage* storage, std::string name) : storage_(storage), name_(std::move(name)) {}
    absl::Status Append(std::string_view bytes) override {
      content_ += bytes;
      return absl::OkStatus();
    }
    absl::Status Commit() override { return storage_->Put(name_, content_).status(); }

   private:
    MemoryStorage* const storage_;
    const std::string name_;
    std::string content_;
  };

  // Each read names the state of the file that it wants, as HTTP's If-Match does.
  class File final : public StoredFile {
   public:
    File(MemoryStorage* storage, std::string name, FileInfo opened)
        : storage_(storage), name_(std::move(name)), opened_(std::move(opened)) {}
    const std::string& path() const override { return name_; }
    const FileInfo& opened() const override { return opened_; }
    absl::StatusOr<FileInfo> Info() const override { return opened_; }
    absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t length, char* out) const override {
      return WaitForCall<size_t>([&](CallDone<size_t> done) {
        Read(offset, length, out, {.priority = CallPriority::kUrgent}, std::move(done));
      });
    }
    void Read(uint64_t offset, size_t length, char* out, const CallOptions& options,
              CallDone<size_t> done) const override {
      storage_->calls_.Add(options, [storage = storage_, name = name_, opened = opened_, offset, length, out,
                                     done = std::move(done)](bool cancelled) mutable {
        std::move(done)(cancelled ? absl::CancelledError(name) : storage->Read(name, opened, offset, length, out));
      });
    }

   private:
    MemoryStorage* const storage_;
    const std::string name_;
    const FileInfo opened_;
  };

  bool Holds(const std::string& name, const WriteCondition& condition) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = objects_.find(name);
    if (found == objects_.end()) return condition.tag.empty();
    return !condition.is_new && (condition.tag.empty() || condition.tag == found->second.tag);
  }

  static FileInfo InfoOf(const Object& object) { return {object.content.size(), 0, object.tag}; }

  absl::StatusOr<StoredName> Look(const std::string& name, bool cancelled) {
    if (cancelled) return absl::CancelledError(name);
    MutexLock lock(&mutex_);
    const auto found = objects_.find(name);
    if (found != objects_.end()) return StoredName{StoredEntry::Kind::kFile, InfoOf(found->second), name};
    const auto below = objects_.lower_bound(name + "/");
    if (below != objects_.end() && below->first.substr(0, name.size() + 1) == name + "/") {
      return StoredName{StoredEntry::Kind::kFolder, FileInfo(), name};
    }
    return absl::NotFoundError(absl::StrCat(name, ": there is no such object"));
  }
  absl::StatusOr<size_t> Read(const std::string& name, const FileInfo& opened, uint64_t offset, size_t length,
                              char* out) {
    MutexLock lock(&mutex_);
    const auto found = objects_.find(name);
    if (found == objects_.end()) return absl::NotFoundError(absl::StrCat(name, ": there is no such object"));
    const Object& object = found->second;
    if (InfoOf(object) != opened) return absl::AbortedError(absl::StrCat(name, " changed since it was opened"));
    if (offset >= object.content.size()) return size_t{0};
    const size_t n = std::min<size_t>(length, object.content.size() - offset);
    std::memcpy(out, object.content.data() + offset, n);
    return n;
  }

  Mutex mutex_;
  std::map<std::string, Object> objects_ ABSL_GUARDED_BY(mutex_);
  int puts_ ABSL_GUARDED_BY(mutex_) = 0;
  ThreadPool pool_{2, "memory"};
  CallQueue calls_{&pool_};  // destroyed first; it ends the waiting calls
};

}  // namespace penstock::storage

#endif  // PENSTOCK_TESTS_PIPELINE_STORAGE_MEMORY_STORAGE_H_
