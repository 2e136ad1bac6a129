#include "pipeline/import/file_source.h"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "pipeline/import/image_start.h"
#include "pipeline/import/items_ahead.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/sources/record_limits.h"

namespace penstock::imports {
namespace {

class FileMaker final : public RecordMaker {
 public:
  FileMaker(const FileSet& files, const PrepareOptions& prepare, ItemsAhead* ahead)
      : files_(files), ahead_(ahead), preparer_(prepare) {}

  absl::Status Make(uint64_t item, MadeRecord* out) override {
    const std::string path = files_.path(item);
    std::string content;
    FetchedItem fetched;
    if (files_.is_object(item)) {
      PS_ASSIGN_OR_RETURN(fetched, ahead_->Take(item));
    } else {
      PS_ASSIGN_OR_RETURN(content, Read(path));
      fetched.bytes = content;
    }
    const std::string_view encoded = fetched.bytes;
    const auto image = preparer_.Prepare(encoded);
    if (!image.ok()) {
      return absl::Status(image.status().code(),
                          absl::StrCat(path, ": ", image.status().message(),
                                       BeginsAsImage(encoded) ? "" : " (--skip-other leaves out what is no image)"));
    }
    records::ExampleBuilder example;
    example.Bytes("image/encoded", image->bytes);
    if (files_.labeled()) example.Int64("image/class/label", files_.label(item));
    example.Bytes("image/filename", files_.name(item))
        .Bytes("image/format", image::ImageFormatName(image->format))
        .Int64("image/height", image->height)
        .Int64("image/width", image->width);
    if (!files_.class_name(item).empty()) example.Bytes("image/class/text", files_.class_name(item));
    out->bytes = example.Serialize();
    out->treatment = image->treatment;
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<std::string> Read(const std::string& path) {
    auto content = ReadWholeFile(path, sources::kDefaultMaxRecordBytes);
    if (content.ok()) return content;
    const absl::Status status = content.status();
    // A file that is too large is a bad item. Too many open files or a broken disk are not the file's fault.
    if (const auto info = StatFile(path); info.ok() && info->size > sources::kDefaultMaxRecordBytes) {
      return absl::InvalidArgumentError(status.message());
    }
    return IsBadItem(status) ? status : absl::UnavailableError(status.message());
  }

  const FileSet& files_;
  ItemsAhead* const ahead_;
  ImagePreparer preparer_;
};

// Returns the error of an item whose object could not be read in the state from its listing.
absl::Status SinceListed(const std::string& path, const absl::Status& status) {
  const std::string why(status.message());
  if (absl::IsNotFound(status)) return absl::NotFoundError(absl::StrCat(why, "; it was there when it was listed"));
  if (absl::IsAborted(status)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " changed after it was listed; repeat the command when no program writes there"));
  }
  // Expired keys are not the object's fault.
  if (absl::IsPermissionDenied(status)) return absl::FailedPreconditionError(why);
  return status;
}

// Reads a whole object.
void ReadWhole(std::unique_ptr<storage::StoredFile> opened, const storage::CallOptions& options,
               storage::CallDone<FetchedItem> done) {
  const std::string path = opened->path();
  const uint64_t size = opened->opened().size;
  if (size > sources::kDefaultMaxRecordBytes) {
    return std::move(done)(absl::InvalidArgumentError(
        absl::StrCat(path, " has ", size, " bytes; at most ", sources::kDefaultMaxRecordBytes, " are read")));
  }
  struct Bytes {
    std::unique_ptr<storage::StoredFile> file;
    std::unique_ptr<char[]> content;
  };
  auto bytes = std::make_shared<Bytes>(Bytes{std::move(opened), std::make_unique_for_overwrite<char[]>(size)});
  storage::StoredFile* const file = bytes->file.get();
  char* const out = bytes->content.get();
  file->Read(0, size, out, options,
             [path, bytes = std::move(bytes), done = std::move(done)](absl::StatusOr<size_t> got) mutable {
               if (!got.ok()) return std::move(done)(SinceListed(path, got.status()));
               const std::string_view all(bytes->content.get(), *got);
               std::move(done)(FetchedItem{std::move(bytes), all});
             });
}

class FileSource final : public RecordSource {
 public:
  FileSource(FileSet files, const PrepareOptions& prepare)
      : files_(std::move(files)),
        prepare_(prepare),
        ahead_([this](uint64_t item) { return files_.state(item).value_or(FileInfo()).size; },
               [this](uint64_t item, const storage::CallOptions& options, storage::CallDone<FetchedItem> done) {
                 Fetch(item, options, std::move(done));
               }) {}

  uint64_t size() const override { return files_.size(); }
  uint64_t fingerprint() const override { return files_.fingerprint(); }
  std::unique_ptr<RecordMaker> NewMaker() const override {
    return std::make_unique<FileMaker>(files_, prepare_, &ahead_);
  }
  size_t ahead() const override { return files_.has_objects() ? ItemsAhead::kAnnounced : 0; }
  void WillMake(uint64_t item) const override {
    if (files_.is_object(item)) ahead_.Announce(item);
  }

 private:
  void Fetch(uint64_t item, const storage::CallOptions& options, storage::CallDone<FetchedItem> done) const {
    // If the listing had an error instead of a state, Open() returns the error again, or opens the file if the error
    // has passed.
    storage::CallOptions as_listed = options;
    as_listed.listed = files_.state(item);
    files_.storage()->Open(
        files_.path(item), as_listed,
        [options, done = std::move(done)](absl::StatusOr<std::unique_ptr<storage::StoredFile>> file) mutable {
          if (!file.ok()) return std::move(done)(file.status());
          ReadWhole(*std::move(file), options, std::move(done));
        });
  }

  const FileSet files_;
  const PrepareOptions prepare_;
  mutable ItemsAhead ahead_;  // thread-safe
};

}  // namespace

absl::StatusOr<std::unique_ptr<RecordSource>> NewFileSource(FileSet files, const PrepareOptions& prepare,
                                                            bool skip_bad) {
  if (files.unreadable() > 0 && !skip_bad) {
    return absl::NotFoundError(absl::StrCat(files.unreadable(), " of ", files.size(),
                                            " files cannot be read, the first: ", files.first_unreadable(),
                                            " (--skip-bad leaves such files out)"));
  }
  return std::make_unique<FileSource>(std::move(files), prepare);
}

}  // namespace penstock::imports
