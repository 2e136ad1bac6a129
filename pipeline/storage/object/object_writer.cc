// New objects, written in parts that become visible together.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "pipeline/storage/object/object_storage.h"

namespace penstock::storage {
namespace {

// Maximum size of an object that is read back to be compared.
constexpr size_t kMostCompared = size_t{1} << 30;

absl::Status NoUploads(const std::string& name) {
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": a web server takes no files; write to s3://, gs://, az:// or a folder"));
}

struct Target {
  ObjectStorage* storage;
  ObjectUploads* uploads;
  ObjectName name;

  static absl::StatusOr<Target> Of(ObjectStorage* storage, const std::string& name) {
    PS_ASSIGN_OR_RETURN(ObjectName parsed, ParseObjectName(name));
    ObjectUploads* const uploads = storage->UploadsOf(parsed);
    if (uploads == nullptr) return NoUploads(name);
    return Target{storage, uploads, std::move(parsed)};
  }

  absl::StatusOr<HttpResponse> Ask(ObjectStorage::Make make, ObjectStorage::Check check = nullptr) const {
    return WaitForCall<HttpResponse>([&](CallDone<HttpResponse> done) {
      storage->Ask(name, {.priority = CallPriority::kUrgent, .stop = {}}, std::move(make), std::move(check),
                   std::move(done));
    });
  }
};

absl::StatusOr<std::string> ReadBack(ObjectStorage* storage, const std::string& name, std::string* tag) {
  PS_ASSIGN_OR_RETURN(const auto file, storage->OpenAndWait(name));
  if (file->opened().size > kMostCompared) return absl::ResourceExhaustedError(name);
  std::string content(file->opened().size, '\0');
  PS_ASSIGN_OR_RETURN(const size_t size, file->ReadAt(0, content.size(), content.data()));
  content.resize(size);
  *tag = file->opened().tag;
  return content;
}

class Writer final : public NewFile {
 public:
  Writer(Target target, size_t part_bytes, int under_way)
      : target_(std::move(target)),
        part_bytes_(part_bytes),
        most_under_way_(target_.uploads->in_order() ? 1 : under_way) {}

  ~Writer() override {
    WaitForRoom(1);
    if (!begun_ || committed_) return;
    const auto& uploads = target_.uploads;
    if (!uploads->Abort(target_.name, id_)) return;
    // A destructor has no caller to report an error to.
    static_cast<void>(target_.Ask([&] { return *uploads->Abort(target_.name, id_); }));
  }

  absl::Status Append(std::string_view bytes) override {
    while (!bytes.empty()) {
      // Sends a part only when more bytes follow, because the last part must be marked.
      if (buffer_.size() == part_bytes_) PS_RETURN_IF_ERROR(SendBuffer(false));
      const size_t n = std::min(bytes.size(), part_bytes_ - buffer_.size());
      buffer_.append(bytes.substr(0, n));
      bytes.remove_prefix(n);
    }
    return absl::OkStatus();
  }

  absl::Status Commit() override {
    if (sent_ == 0 && !begun_) {
      PS_RETURN_IF_ERROR(target_.storage->Put(ToString(target_.name), buffer_).status());
      committed_ = true;
      return absl::OkStatus();
    }
    PS_RETURN_IF_ERROR(SendBuffer(true));
    WaitForRoom(1);
    std::vector<std::string> parts;
    {
      MutexLock lock(&parts_->mutex);
      PS_RETURN_IF_ERROR(parts_->failed);
      parts = parts_->tags;
    }
    const WriteCondition any;
    if (target_.uploads->Complete(target_.name, id_, parts, any)) {
      const auto completed = target_.Ask(
          [&] { return *target_.uploads->Complete(target_.name, id_, parts, any); },
          [&](const HttpResponse& response) { return target_.uploads->CheckComplete(target_.name, response); });
      // If the answer to the first try is lost, the retry finds that the upload no longer exists.
      if (!completed.ok() && !(absl::IsNotFound(completed.status()) && IsThere())) return completed.status();
    }
    committed_ = true;
    return absl::OkStatus();
  }

 private:
  absl::Status Begin() {
    if (std::exchange(begun_, true)) return absl::OkStatus();
    HttpResponse response;
    if (target_.uploads->begins()) {
      auto answer = target_.Ask([&] { return target_.uploads->Begin(target_.name, {}); });
      if (!answer.ok()) begun_ = false;
      PS_RETURN_IF_ERROR(answer.status());
      response = *std::move(answer);
    }
    auto id = target_.uploads->IdOf(target_.name, response);
    if (!id.ok()) begun_ = false;
    PS_RETURN_IF_ERROR(id.status());
    id_ = *std::move(id);
    return absl::OkStatus();
  }

  absl::Status SendBuffer(bool last) {
    PS_RETURN_IF_ERROR(Begin());
    const UploadPart part{.number = count_, .offset = sent_, .size = buffer_.size(), .last = last};
    if (part.number >= target_.uploads->most_parts()) {
      return absl::ResourceExhaustedError(absl::StrCat(ToString(target_.name), " would be larger than ",
                                                       target_.uploads->most_parts(), " parts of ", part_bytes_,
                                                       " bytes; make the files smaller (--shard-size)"));
    }
    WaitForRoom(most_under_way_);
    {
      MutexLock lock(&parts_->mutex);
      PS_RETURN_IF_ERROR(parts_->failed);
      ++parts_->under_way;
      parts_->tags.emplace_back();
    }
    ++count_;
    sent_ += buffer_.size();
    const auto body = std::make_shared<const std::string>(std::exchange(buffer_, {}));
    ObjectUploads* const uploads = target_.uploads;
    target_.storage->Ask(
        target_.name, {.priority = CallPriority::kNormal, .stop = {}},
        [this, uploads, part, body] { return uploads->Send(target_.name, id_, part, *body); },
        [this, uploads, part](const HttpResponse& response) {
          return uploads->PartOf(target_.name, part, response).status();
        },
        [parts = parts_, name = target_.name, uploads, part](const absl::StatusOr<HttpResponse>& response) {
          absl::StatusOr<std::string> tag = response.ok() ? uploads->PartOf(name, part, *response) : response.status();
          MutexLock lock(&parts->mutex);
          --parts->under_way;
          if (tag.ok()) {
            parts->tags[part.number] = *std::move(tag);
          } else if (parts->failed.ok()) {
            parts->failed = tag.status();
          }
          parts->changed.NotifyAll();
        });
    return absl::OkStatus();
  }

  // Blocks until fewer than `most` parts are in flight.
  void WaitForRoom(int most) {
    MutexLock lock(&parts_->mutex);
    while (parts_->under_way >= most) parts_->changed.Wait(&parts_->mutex);
  }

  bool IsThere() const {
    const auto found = target_.storage->StatAndWait(ToString(target_.name));
    return found.ok() && found->kind == StoredEntry::Kind::kFile && found->info.size == sent_;
  }

  const Target target_;
  const size_t part_bytes_;
  const int most_under_way_;
  std::string buffer_, id_;
  bool begun_ = false, committed_ = false;
  size_t count_ = 0;   // sent parts
  uint64_t sent_ = 0;  // sent bytes
  // Shared, because the answering thread may still hold the lock when the writer is destroyed.
  struct Parts {
    Mutex mutex;
    CondVar changed;
    int under_way ABSL_GUARDED_BY(mutex) = 0;
    absl::Status failed ABSL_GUARDED_BY(mutex);
    std::vector<std::string> tags ABSL_GUARDED_BY(mutex);
  };
  const std::shared_ptr<Parts> parts_ = std::make_shared<Parts>();
};

}  // namespace

absl::Status ObjectStorage::CheckOutput(const std::string& folder) const {
  PS_ASSIGN_OR_RETURN(const ObjectName name, ParseObjectName(folder));
  if (UploadsOf(name) == nullptr) return NoUploads(folder);
  if (name.key.find_first_not_of('/') != std::string::npos) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(folder, ": name a folder in it"));
}

absl::StatusOr<std::unique_ptr<NewFile>> ObjectStorage::Create(const std::string& name) {
  PS_ASSIGN_OR_RETURN(Target target, Target::Of(this, name));
  return std::make_unique<Writer>(std::move(target), options_.part_bytes, options_.parts_under_way);
}

absl::StatusOr<std::string> ObjectStorage::Put(const std::string& name, const std::string& content,
                                               const WriteCondition& condition) {
  PS_ASSIGN_OR_RETURN(const Target target, Target::Of(this, name));
  const auto answer = target.Ask([&] { return target.uploads->Put(target.name, content, condition); });
  if (answer.ok()) return target.uploads->TagOf(*answer);
  // If the answer to the first try is lost, the retry finds the object that the first try wrote.
  std::string tag;
  if (absl::IsAborted(answer.status()) && ReadBack(this, name, &tag).value_or("") == content && !content.empty()) {
    return tag;
  }
  return answer.status();
}

absl::Status ObjectStorage::Remove(const std::string& name, const WriteCondition& condition) {
  PS_ASSIGN_OR_RETURN(const Target target, Target::Of(this, name));
  const absl::Status removed = target.Ask([&] { return target.uploads->Remove(target.name, condition); }).status();
  return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
}

absl::Status ObjectStorage::RemoveUnfinished(const std::string& folder) {
  PS_ASSIGN_OR_RETURN(const Target target, Target::Of(this, folder));
  if (!target.uploads->ListPending(target.name)) return absl::OkStatus();
  PS_ASSIGN_OR_RETURN(const HttpResponse listed, target.Ask([&] { return *target.uploads->ListPending(target.name); }));
  for (const PendingUpload& pending : target.uploads->PendingOf(target.name, listed)) {
    const absl::Status aborted = target.Ask([&] { return *target.uploads->Abort(pending.name, pending.id); }).status();
    if (!aborted.ok() && !absl::IsNotFound(aborted)) return aborted;
  }
  return absl::OkStatus();
}

}  // namespace penstock::storage
