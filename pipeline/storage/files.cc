#include "pipeline/storage/files.h"

#include <utility>

#include "pipeline/storage/object/object_name.h"
#include "pipeline/storage/posix_storage.h"

namespace penstock {
namespace {

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
  static auto* const objects = new ObjectStorage(ObjectStorage::Options::FromEnvironment());
  return objects;
}

Storage* AnyFiles() {
  static auto* const files = new FilesAndObjects(LocalFiles());
  return files;
}

std::unique_ptr<Storage> FilesBy(Storage* local) { return std::make_unique<FilesAndObjects>(local); }

FarFiles::FarFiles(int threads)
    : threads_(threads, "ps-read"),
      far_(MakePosixStorage(&threads_, true)),
      storage_(FilesBy(far_.get())),
      count_(threads) {}

}  // namespace penstock
