#include "pipeline/storage/posix_storage.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/runtime/thread_pool.h"
#include "base/shortage.h"
#include "base/status_macros.h"
#include "base/temporaries.h"
#include "base/url.h"
#include "pipeline/storage/call_queue.h"

namespace penstock::storage {
namespace {

// Threads of LocalFiles(). They block on storage and use little CPU.
constexpr int kLocalThreads = 4;

absl::Status Stopped(const std::string& name) { return absl::CancelledError(absl::StrCat(name, ": cancelled")); }

// A system call that fails because memory or descriptors are short indicates nothing about the file.
absl::Status OfThisProcess(absl::Status status) {
  return absl::IsResourceExhausted(status) ? ShortageError(status.message()) : status;
}
template <typename T>
absl::StatusOr<T> OfThisProcess(absl::StatusOr<T> result) {
  if (absl::IsResourceExhausted(result.status())) return ShortageError(result.status().message());
  return result;
}

StoredEntry::Kind KindOf(mode_t mode) {
  if (S_ISREG(mode)) return StoredEntry::Kind::kFile;
  return S_ISDIR(mode) ? StoredEntry::Kind::kFolder : StoredEntry::Kind::kOther;
}

class PosixStoredFile final : public StoredFile {
 public:
  PosixStoredFile(std::shared_ptr<const RandomAccessFile> file, FileInfo opened, CallQueue* calls)
      : file_(std::move(file)), opened_(std::move(opened)), calls_(calls) {}

  const std::string& path() const override { return file_->path(); }
  const FileInfo& opened() const override { return opened_; }
  absl::StatusOr<FileInfo> Info() const override { return file_->Info(); }
  void WillRead(uint64_t offset, uint64_t length) const override { file_->WillRead(offset, length); }
  absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t length, char* out) const override {
    return OfThisProcess(file_->ReadAt(offset, length, out));
  }
  absl::StatusOr<size_t> ReadAtPastCaches(uint64_t offset, size_t length, char* out) const override {
    return OfThisProcess(file_->ReadAtPastCaches(offset, length, out));
  }
  void Read(uint64_t offset, size_t length, char* out, const CallOptions& options,
            CallDone<size_t> done) const override {
    ReadParts(offset, {{out, length}}, options, std::move(done));
  }
  void ReadParts(uint64_t offset, std::vector<ReadPart> parts, const CallOptions& options,
                 CallDone<size_t> done) const override {
    calls_->Add(options, [file = file_, opened = opened_, offset, parts = std::move(parts),
                          done = std::move(done)](bool cancelled) mutable {
      if (cancelled) {
        std::move(done)(Stopped(file->path()));
        return;
      }
      absl::StatusOr<size_t> read =
          parts.size() == 1 ? file->ReadAt(offset, parts[0].bytes, parts[0].out) : file->ReadPartsAt(offset, parts);
      const absl::StatusOr<FileInfo> now = file->Info();
      if (!now.ok()) {
        read = now.status();
      } else if (*now != opened) {
        read = absl::AbortedError(absl::StrCat(file->path(), " changed since it was opened"));
      }
      std::move(done)(OfThisProcess(std::move(read)));
    });
  }

 private:
  const std::shared_ptr<const RandomAccessFile> file_;
  const FileInfo opened_;
  CallQueue* const calls_;
};

class PosixStorage final : public Storage {
 public:
  // `remote` must outlive this object and may change.
  PosixStorage(Executor* executor, const std::atomic<bool>* remote) : calls_(executor), remote_(remote) {}

  bool IsLocal(const std::string& name) const override { return true; }
  bool HasFolders(const std::string& name) const override { return true; }
  std::vector<std::string> Schemes() const override { return {}; }
  absl::Status CheckName(const std::string& name) const override {
    const std::string why = WhyNoUrl(name, {});
    return why.empty() ? absl::OkStatus() : absl::InvalidArgumentError(why);
  }
  absl::Status CheckOutput(const std::string& folder) const override { return absl::OkStatus(); }

  bool HasLowLatency(const std::string& name) const override { return !remote_->load(std::memory_order_relaxed); }

  absl::StatusOr<std::unique_ptr<StoredFile>> OpenAndWait(const std::string& name,
                                                          const CallOptions& options) override {
    if (options.stop.stop_requested()) return Stopped(name);
    return Open(name, options.listed, options.without_links, &calls_);
  }
  absl::StatusOr<StoredName> StatAndWait(const std::string& name, const CallOptions& options) override {
    if (options.stop.stop_requested()) return Stopped(name);
    return Stat(name);
  }
  absl::StatusOr<std::vector<StoredEntry>> ListAndWait(const std::string& folder, const CallOptions& options) override {
    if (options.stop.stop_requested()) return Stopped(folder);
    return List(folder);
  }

  void Open(const std::string& name, const CallOptions& options, CallDone<std::unique_ptr<StoredFile>> done) override {
    calls_.Add(options, [name, listed = options.listed, without_links = options.without_links, calls = &calls_,
                         done = std::move(done)](bool cancelled) mutable {
      std::move(done)(cancelled ? Stopped(name) : Open(name, listed, without_links, calls));
    });
  }
  void Stat(const std::string& name, const CallOptions& options, CallDone<StoredName> done) override {
    calls_.Add(options, [name, done = std::move(done)](bool cancelled) mutable {
      std::move(done)(cancelled ? Stopped(name) : Stat(name));
    });
  }
  void List(const std::string& folder, const CallOptions& options, CallDone<std::vector<StoredEntry>> done) override {
    calls_.Add(options, [folder, done = std::move(done)](bool cancelled) mutable {
      std::move(done)(cancelled ? Stopped(folder) : List(folder));
    });
  }

  absl::StatusOr<std::unique_ptr<NewFile>> Create(const std::string& name) override { return NewFile::Create(name); }
  absl::StatusOr<std::string> Put(const std::string& name, const std::string& content,
                                  const WriteCondition& condition) override {
    PS_RETURN_IF_ERROR(WriteFileAtomically(name, content));
    return "";
  }
  absl::Status Remove(const std::string& name, const WriteCondition& condition) override {
    std::error_code error;
    std::filesystem::remove(name, error);
    return error ? ErrnoStatus(error.value(), absl::StrCat("removing ", name)) : absl::OkStatus();
  }
  absl::Status RemoveUnfinished(const std::string& folder) override {
    RemoveTemporariesIn(folder);
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<std::unique_ptr<StoredFile>> Open(const std::string& name,
                                                          const std::optional<FileInfo>& listed, bool without_links,
                                                          CallQueue* calls) {
    PS_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file,
                        OfThisProcess(OpenFile(name, without_links ? Links::kReject : Links::kFollow)));
    PS_ASSIGN_OR_RETURN(FileInfo info, file->Info());
    if (listed && *listed != info) {
      return absl::AbortedError(absl::StrCat(name, " changed since it was listed"));
    }
    return std::make_unique<PosixStoredFile>(std::move(file), std::move(info), calls);
  }

  static absl::StatusOr<StoredName> Stat(const std::string& name) {
    char* const resolved = realpath(name.c_str(), nullptr);
    if (resolved == nullptr) return OfThisProcess(ErrnoStatus(errno, name));
    StoredName found;
    found.resolved = resolved;
    free(resolved);
    struct stat st;
    if (stat(found.resolved.c_str(), &st) != 0) return OfThisProcess(ErrnoStatus(errno, name));
    found.kind = KindOf(st.st_mode);
    if (found.kind == StoredEntry::Kind::kFile) {
      PS_ASSIGN_OR_RETURN(found.info, StatFile(found.resolved));
    }
    return found;
  }

  static absl::StatusOr<std::vector<StoredEntry>> List(const std::string& folder) {
    DIR* const dir = opendir(folder.c_str());
    if (dir == nullptr) return OfThisProcess(ErrnoStatus(errno, absl::StrCat("listing ", folder)));
    std::vector<StoredEntry> entries;
    errno = 0;
    while (const dirent* entry = readdir(dir)) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      const StoredEntry::Kind kind = entry->d_type == DT_REG   ? StoredEntry::Kind::kFile
                                     : entry->d_type == DT_DIR ? StoredEntry::Kind::kFolder
                                                               : StoredEntry::Kind::kOther;
      entries.push_back({name, kind});
    }
    const int error = errno;
    closedir(dir);
    if (error != 0) return OfThisProcess(ErrnoStatus(error, absl::StrCat("listing ", folder)));
    return entries;
  }

  CallQueue calls_;
  const std::atomic<bool>* const remote_;
};

const std::atomic<bool> kRemote{true}, kLocal{false};

}  // namespace

std::unique_ptr<Storage> MakePosixStorage(Executor* executor, bool remote) {
  return std::make_unique<PosixStorage>(executor, remote ? &kRemote : &kLocal);
}

std::unique_ptr<Storage> MakePosixStorage(Executor* executor, const std::atomic<bool>* remote) {
  return std::make_unique<PosixStorage>(executor, remote);
}

Storage* LocalFiles() {
  static Storage* const storage = new PosixStorage(new ThreadPool(kLocalThreads, "ps-files"), &kLocal);
  return storage;
}

}  // namespace penstock::storage
