#include "pipeline/storage/files.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "pipeline/storage/object/object_name.h"
#include "pipeline/storage/object/object_writer.h"
#include "pipeline/storage/posix_storage.h"

namespace penstock {
namespace {

// Threads for near files. Calls such as opening a file block on storage there too.
constexpr int kNearThreads = 4;

std::atomic<ObjectStorage*> objects_made{nullptr};

class FilesAndObjects final : public Storage {
 public:
  explicit FilesAndObjects(Storage* local) : local_(local) {}

  bool AnswersAtOnce(const std::string& name) const override {
    return !IsObjectName(name) && local_->AnswersAtOnce(name);
  }
  void Open(const std::string& name, const CallOptions& options, CallDone<std::unique_ptr<StoredFile>> done) override {
    Of(name)->Open(name, options, std::move(done));
  }
  void Stat(const std::string& name, const CallOptions& options, CallDone<StoredName> done) override {
    Of(name)->Stat(name, options, std::move(done));
  }
  void List(const std::string& folder, const CallOptions& options, CallDone<std::vector<StoredEntry>> done) override {
    Of(folder)->List(folder, options, std::move(done));
  }
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
  Storage* Of(const std::string& name) const { return IsObjectName(name) ? Objects() : local_; }

  Storage* const local_;
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
  static auto* const files = new FilesAndObjects(LocalFiles());
  return files;
}

absl::StatusOr<std::unique_ptr<NewFile>> CreateFile(const std::string& name) {
  return IsObjectName(name) ? CreateObject(Objects(), name) : NewFile::Create(name);
}

absl::Status WriteContent(const std::string& name, const std::string& content) {
  return IsObjectName(name) ? PutObject(Objects(), name, content).status() : WriteFileAtomically(name, content);
}

absl::StatusOr<std::string> ReadContent(const std::string& name, uint64_t most) {
  if (!IsObjectName(name)) return ReadWholeFile(name, most);
  PS_ASSIGN_OR_RETURN(const auto file, AnyFiles()->OpenAndWait(name));
  if (file->opened().size > most) {
    return absl::ResourceExhaustedError(
        absl::StrCat(name, " has ", file->opened().size, " bytes; at most ", most, " are read"));
  }
  std::string content(file->opened().size, '\0');
  PS_ASSIGN_OR_RETURN(const size_t size, file->ReadAt(0, content.size(), content.data()));
  content.resize(size);
  return content;
}

std::unique_ptr<Storage> FilesBy(Storage* local) { return std::make_unique<FilesAndObjects>(local); }

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
