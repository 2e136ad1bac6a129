#include "pipeline/import/record_files_source.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "pipeline/import/records_ahead.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/records/example_patch.h"
#include "pipeline/records/job_format.h"
#include "pipeline/records/record_example.h"
#include "pipeline/sources/shard_kind.h"

namespace penstock::imports {
namespace {

// Returns the keys of a record, for a message.
std::string KeysOf(std::string_view record) {
  constexpr size_t kShown = 20;
  const auto infos = records::ListFeatures(record, records::RecordFormat::kExample);
  if (!infos.ok()) return "";
  std::vector<std::string> keys;
  for (const records::FeatureInfo& info : *infos) {
    if (keys.size() < kShown) keys.push_back(info.key);
  }
  return absl::StrCat(" (it has: ", absl::StrJoin(keys, ", "), infos->size() > kShown ? ", ..." : "", ")");
}

absl::StatusOr<std::string> ExampleOf(sources::ContainerKind container, std::string_view record) {
  switch (container) {
    case sources::ContainerKind::kTar:
      return records::ExampleOfSample(record);
    case sources::ContainerKind::kJsonl:
      return records::ExampleOfJson(record);
    case sources::ContainerKind::kText:
      return records::ExampleOfLine(record);
    case sources::ContainerKind::kCsv:
    case sources::ContainerKind::kTsv:
      return records::ExampleOfRow(record, records::FormatOf(container));
    case sources::ContainerKind::kNpy:
      return records::ExampleOfArrayRow(record);
    case sources::ContainerKind::kManifest:
      return records::ExampleOfFileRow(record);
    case sources::ContainerKind::kTfRecord:
      break;
  }
  return std::string(record);
}

class RecordFilesMaker final : public RecordMaker {
 public:
  RecordFilesMaker(loader::DatasetReader* reader, ItemsAhead* ahead, const std::optional<PrepareOptions>& prepare,
                   const std::string& image_key)
      : reader_(reader), ahead_(ahead), image_key_(image_key) {
    if (!prepare) return;
    preparer_.emplace(*prepare);
    // The context of a SequenceExample has the field number of an Example's features.
    auto parser = records::ExampleParser::Create({{.key = image_key, .kind = records::FeatureKind::kBytes}});
    PS_CHECK(parser.ok());
    parser_ = *std::move(parser);
  }

  absl::Status Make(uint64_t item, MadeRecord* out) override {
    PS_ASSIGN_OR_RETURN(const std::string_view record, TakeRecord(reader_, ahead_, item, item, &fetched_, &buffer_));
    const absl::Status made = MakeFrom(record, out);
    if (made.ok()) return made;
    return absl::Status(made.code(), absl::StrCat(reader_->Describe(item), ": ", made.message()));
  }

 private:
  absl::Status MakeFrom(std::string_view record, MadeRecord* out) {
    const sources::ContainerKind container = reader_->snapshot().containers()[0];
    if (container != sources::ContainerKind::kTfRecord) {
      PS_ASSIGN_OR_RETURN(example_, ExampleOf(container, record));
      record = example_;
    }
    if (preparer_) return Rewrite(record, out);
    out->bytes = record;
    return absl::OkStatus();
  }

  absl::Status Rewrite(std::string_view record, MadeRecord* out) {
    PS_RETURN_IF_ERROR(parser_->Parse(record, &parsed_));
    if (parsed_[0].bytes.size() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", image_key_, "' holds ", parsed_[0].bytes.size(), " images where one is expected",
                       parsed_[0].missing ? KeysOf(record) : "", "; --image-key names the feature with the image"));
    }
    PS_ASSIGN_OR_RETURN(const PreparedImage image, preparer_->Prepare(parsed_[0].bytes[0]));
    out->treatment = image.treatment;
    if (image.treatment == ImageTreatment::kKept) {
      out->bytes = record;
      return absl::OkStatus();
    }
    std::vector<records::FeaturePatch> patches = {{.key = image_key_, .value = image.bytes}};
    if (image.treatment == ImageTreatment::kReencoded && image_key_ == "image/encoded") {
      patches.push_back({.key = "image/height", .value = int64_t{image.height}, .add = true});
      patches.push_back({.key = "image/width", .value = int64_t{image.width}, .add = true});
      patches.push_back({.key = "image/format", .value = image::ImageFormatName(image.format), .add = true});
    }
    return records::PatchExample(record, patches, &out->bytes);
  }

  loader::DatasetReader* const reader_;
  ItemsAhead* const ahead_;  // null if the reader answers at once
  const std::string image_key_;
  std::optional<ImagePreparer> preparer_;
  std::optional<records::ExampleParser> parser_;
  records::ParsedExample parsed_;
  std::string example_;  // the current record, if it is no Example
  FetchedItem fetched_;
  loader::RecordBuffer buffer_;
};

class RecordFilesSource final : public RecordSource {
 public:
  RecordFilesSource(std::shared_ptr<loader::DatasetReader> reader, const std::optional<PrepareOptions>& prepare,
                    const std::string& image_key)
      : reader_(std::move(reader)),
        prepare_(prepare),
        image_key_(image_key),
        ahead_(NewRecordsAhead(reader_.get(), reader_->snapshot().total_records())) {}

  uint64_t size() const override { return reader_->snapshot().total_records(); }
  uint64_t fingerprint() const override { return reader_->snapshot().Fingerprint(); }
  std::unique_ptr<RecordMaker> NewMaker() const override {
    return std::make_unique<RecordFilesMaker>(reader_.get(), ahead_.get(), prepare_, image_key_);
  }
  size_t ahead() const override { return ahead_ == nullptr ? 0 : ItemsAhead::kAnnounced; }
  void WillMake(uint64_t item) const override { ahead_->Announce(item); }

 private:
  const std::shared_ptr<loader::DatasetReader> reader_;
  const std::optional<PrepareOptions> prepare_;
  const std::string image_key_;
  const std::unique_ptr<ItemsAhead> ahead_;
};

}  // namespace

std::unique_ptr<RecordSource> NewRecordFilesSource(std::shared_ptr<loader::DatasetReader> reader,
                                                   const std::optional<PrepareOptions>& prepare,
                                                   const std::string& image_key) {
  return std::make_unique<RecordFilesSource>(std::move(reader), prepare, image_key);
}

}  // namespace penstock::imports
