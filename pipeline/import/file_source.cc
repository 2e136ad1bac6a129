#include "pipeline/import/file_source.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "pipeline/import/image_start.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/records/framing.h"

namespace penstock {
namespace {

class FileMaker final : public RecordMaker {
 public:
  FileMaker(const FileSet& files, const PrepareOptions& prepare) : files_(files), preparer_(prepare) {}

  absl::Status Make(uint64_t item, MadeRecord* out) override {
    const std::string path = files_.path(item);
    PS_ASSIGN_OR_RETURN(const std::string encoded, Read(path));
    const auto image = preparer_.Prepare(encoded);
    if (!image.ok()) {
      return absl::Status(image.status().code(),
                          absl::StrCat(path, ": ", image.status().message(),
                                       BeginsAsImage(encoded) ? "" : " (--skip-other leaves out what is no image)"));
    }
    ExampleBuilder example;
    example.Bytes("image/encoded", image->bytes);
    if (files_.labeled()) example.Int64("image/class/label", files_.label(item));
    example.Bytes("image/filename", files_.name(item))
        .Bytes("image/format", ImageFormatName(image->format))
        .Int64("image/height", image->height)
        .Int64("image/width", image->width);
    if (!files_.class_name(item).empty()) example.Bytes("image/class/text", files_.class_name(item));
    out->bytes = example.Serialize();
    out->treatment = image->treatment;
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<std::string> Read(const std::string& path) {
    auto content = ReadWholeFile(path, kDefaultMaxRecordBytes);
    if (content.ok()) return content;
    const absl::Status status = content.status();
    // Too large a file is the file's fault; too many open files or a broken disk are not.
    if (const auto info = StatFile(path); info.ok() && info->size > kDefaultMaxRecordBytes) {
      return absl::InvalidArgumentError(status.message());
    }
    return IsBadItem(status) ? status : absl::UnavailableError(status.message());
  }

  const FileSet& files_;
  ImagePreparer preparer_;
};

class FileSource final : public RecordSource {
 public:
  FileSource(FileSet files, const PrepareOptions& prepare) : files_(std::move(files)), prepare_(prepare) {}

  uint64_t size() const override { return files_.size(); }
  uint64_t fingerprint() const override { return files_.fingerprint(); }
  std::unique_ptr<RecordMaker> NewMaker() const override { return std::make_unique<FileMaker>(files_, prepare_); }

 private:
  const FileSet files_;
  const PrepareOptions prepare_;
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

}  // namespace penstock
