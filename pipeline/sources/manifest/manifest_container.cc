#include "pipeline/sources/manifest/manifest_container.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pipeline/sources/damage.h"
#include "pipeline/sources/file_access.h"
#include "pipeline/sources/file_frame.h"
#include "pipeline/sources/lines/line_container.h"
#include "pipeline/sources/lines/text_bytes.h"
#include "pipeline/sources/manifest/row_files.h"
#include "pipeline/sources/record_limits.h"
#include "pipeline/storage/run_calls.h"

namespace penstock::sources {
namespace {

// Limits of the rows that the walk reads ahead, to look for their files at once: a number of rows, and bytes after
// which it reads no further row.
constexpr size_t kRowsAhead = 256;
constexpr size_t kBytesAhead = 1 << 20;
constexpr size_t kQuestions = 64;  // in flight
constexpr size_t kCheckBytes = 1 << 20;

// A stream whose first bytes were read already.
class PeekedSource final : public ByteSource {
 public:
  PeekedSource(std::string first, std::unique_ptr<ByteSource> rest)
      : first_(std::move(first)), rest_(std::move(rest)) {}

  absl::StatusOr<size_t> Read(char* out, size_t length) override {
    if (at_ == first_.size()) return rest_->Read(out, length);
    const size_t bytes = std::min(length, first_.size() - at_);
    std::memcpy(out, first_.data() + at_, bytes);
    at_ += bytes;
    return bytes;
  }
  absl::StatusOr<uint64_t> Skip(uint64_t length) override {
    if (at_ == first_.size()) return rest_->Skip(length);
    const uint64_t bytes = std::min<uint64_t>(length, first_.size() - at_);
    at_ += bytes;
    return bytes;
  }
  uint64_t file_position() const override { return rest_->file_position(); }

 private:
  const std::string first_;
  size_t at_ = 0;
  const std::unique_ptr<ByteSource> rest_;
};

// Returns the kind of a text with these first bytes.
ContainerKind KindOf(std::string_view first) {
  if (BeginsWithJsonLine(first)) return ContainerKind::kJsonl;
  return first.substr(0, first.find('\n')).find('\t') != std::string_view::npos ? ContainerKind::kTsv
                                                                                : ContainerKind::kCsv;
}

std::string_view HeadOf(ContainerKind kind) {
  return kind == ContainerKind::kJsonl ? kJsonlHead : kind == ContainerKind::kTsv ? kTsvHead : kCsvHead;
}

FramedFile::Text TextOf(ContainerKind kind) {
  return kind == ContainerKind::kJsonl ? FramedFile::Text::kJsonl
         : kind == ContainerKind::kTsv ? FramedFile::Text::kTsv
                                       : FramedFile::Text::kCsv;
}

class ManifestWalker final : public RecordWalker {
 public:
  // `rows` walks over the text, whose kind is `kind`. `input` has no source.
  ManifestWalker(Input input, ContainerKind kind, std::unique_ptr<RecordWalker> rows)
      : RecordWalker(std::move(input)), kind_(kind), rows_(std::move(rows)), folder_(FolderOf(input_file().path())) {}

  absl::StatusOr<Step> Next(std::string* data) override {
    if (ahead_.empty() && !end_.has_value()) PS_RETURN_IF_ERROR(ReadAhead());
    if (ahead_.empty()) {
      record_ = rows_->record();
      offset_ = rows_->offset();
      length_ = rows_->length();
      head_ = Head();
      return *end_ == Step::kBroken ? Break(rows_->damage(), rows_->detail()) : *end_;
    }
    current_ = std::move(ahead_.front());
    ahead_.pop_front();
    record_ = current_.record;
    offset_ = current_.offset;
    length_ = current_.length;
    members_ = current_.members;
    file_ = current_.file;
    identity_ = current_.identity;
    head_ = Head();
    if (data != nullptr) {
      data->assign(HeadOf(kind_)).append(current_.row);
      char trailer[kFileTrailerBytes];
      StoreFileTrailer(static_cast<uint32_t>(data->size()), 0, FileState::kNotRead, trailer);
      data->append(trailer, sizeof trailer);
    }
    return Step::kRecord;
  }

 private:
  struct Row {
    uint64_t record = 0, offset = 0, length = 0;
    std::string identity, row;  // `row`: the data of the record, with the row of names
    std::vector<RecordMember> members;
    FilePiece file = {};
  };
  // The file of a row, while the walk looks for it.
  struct Wanted {
    absl::StatusOr<NamedFile> named = absl::UnknownError("");
    std::string path = {};
    absl::StatusOr<DatasetFile> found = absl::UnknownError("");
    bool failed = false;  // the storage did
  };

  std::string Head() const { return std::string(HeadOf(kind_)) + rows_->head(); }

  absl::Status ReadAhead() {
    for (size_t bytes = 0; ahead_.size() < kRowsAhead && bytes < kBytesAhead && !end_.has_value();) {
      Row row;
      PS_ASSIGN_OR_RETURN(const Step step, rows_->Next(&row.row));
      if (step != Step::kRecord) {
        end_ = step;
        break;
      }
      bytes += row.row.size();
      row.record = rows_->record();
      row.offset = rows_->offset();
      row.length = rows_->length();
      row.identity = rows_->identity();
      row.members = rows_->members();
      ahead_.push_back(std::move(row));
    }
    return FindFiles();
  }

  // Sets the file of each row that was read ahead. A storage that fails is an error of the walk, not of a row.
  absl::Status FindFiles() {
    if (options().row_files == nullptr || options().files == nullptr) {
      for (Row& row : ahead_) row.file.error = "its file was not looked for";
      return absl::OkStatus();
    }
    std::vector<Wanted> wanted(ahead_.size());
    std::map<std::string, size_t> by_path;  // the first row with each path
    std::vector<size_t> unknown;
    storage::Storage* const storage = options().files->storage;
    for (size_t i = 0; i < wanted.size(); ++i) {
      wanted[i].named = options().row_files->FileOf(TextOf(kind_), ahead_[i].row);
      const auto path =
          wanted[i].named.ok() ? PathOfNamedFile(storage, folder_, wanted[i].named->name) : wanted[i].named.status();
      if (!path.ok()) {
        wanted[i].found = path.status();
        continue;
      }
      wanted[i].path = *path;
      if (*path == last_path_) {
        wanted[i].found = last_found_;
      } else if (by_path.try_emplace(*path, i).second) {
        unknown.push_back(i);
      }
    }
    storage::RunCalls(unknown.size(), kQuestions, [&](size_t n, absl::AnyInvocable<void() &&> ended) {
      Wanted* const want = &wanted[unknown[n]];
      auto end = [want, storage, this, ended = std::move(ended)](absl::StatusOr<storage::StoredName> found) mutable {
        want->failed = !found.ok() && !IsFaultOfRow(found.status(), storage->IsLocal(want->path));
        want->found = found.ok() ? PlaceNamedFile(*storage, want->path, *found, options().files->roots)
                                 : absl::StatusOr<DatasetFile>(found.status());
        std::move(ended)();
      };
      if (storage->HasLowLatency(want->path)) return end(storage->StatAndWait(want->path));
      storage->Stat(want->path, {}, std::move(end));
    });
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (const auto first = by_path.find(wanted[i].path); first != by_path.end()) {
        wanted[i].found = wanted[first->second].found;
      }
      if (wanted[i].failed) return wanted[i].found.status();
      ahead_[i].file = PieceOf(wanted[i], ahead_[i].length);
      if (options().check_files) Check(wanted[i], &ahead_[i].file);
      if (wanted[i].named.ok())
        absl::StrAppend(&ahead_[i].identity, wanted[i].named->name.size(), ":", wanted[i].named->name);
      ahead_[i].identity += ahead_[i].file.Identity();
    }
    if (!wanted.empty() && !wanted.back().path.empty()) {
      last_path_ = wanted.back().path;
      last_found_ = wanted.back().found;
    }
    return absl::OkStatus();
  }

  // Returns whether a retry may not help. A storage of objects that denies access may do so for all names, for a while.
  static bool IsFaultOfRow(const absl::Status& status, bool is_local) {
    if (is_local)
      return !absl::IsUnavailable(status) && !absl::IsResourceExhausted(status) && !absl::IsInternal(status);
    return absl::IsNotFound(status) || absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status);
  }

  FilePiece PieceOf(const Wanted& wanted, uint64_t row_bytes) const {
    if (!wanted.found.ok()) return {.error = std::string(wanted.found.status().message())};
    const DatasetFile& found = *wanted.found;
    const uint64_t size = found.info->size, offset = wanted.named->offset;
    const uint64_t length = wanted.named->length.value_or(offset <= size ? size - offset : 0);
    if (offset > size || length > size - offset) {
      return {.error = absl::StrCat(found.path, " has ", size, " bytes, and the row names bytes from ", offset, " to ",
                                    offset + length)};
    }
    if (length > options().max_record_bytes || row_bytes + length > options().max_record_bytes) {
      return {.error = absl::StrCat(found.path, ": ", length, " bytes are more than the limit of ",
                                    options().max_record_bytes, "; raise limits.max_record_bytes")};
    }
    return {.path = PathForIndex(*options().files->storage, folder_, found, options().files->roots),
            .size = size,
            .mtime_s = MtimeSeconds(*found.info),
            .tag = found.info->tag,
            .offset = offset,
            .length = static_cast<uint32_t>(length)};
  }

  // Sets piece->error if the bytes cannot be read.
  void Check(const Wanted& wanted, FilePiece* piece) const {
    if (!piece->error.empty()) return;
    const auto file = options().files->storage->OpenAndWait(wanted.found->path, {.listed = wanted.found->info});
    std::string bytes(std::min<uint64_t>(piece->length, kCheckBytes), '\0');
    absl::Status status = file.status();
    for (uint64_t done = 0; done < piece->length && status.ok();) {
      const size_t length = std::min<uint64_t>(piece->length - done, bytes.size());
      const absl::StatusOr<size_t> got = (*file)->ReadAt(piece->offset + done, length, bytes.data());
      status = !got.ok() || *got == length ? got.status() : absl::DataLossError(wanted.found->path + " ends early");
      done += length;
    }
    if (!status.ok()) piece->error = std::string(status.message());
  }

  const ContainerKind kind_;
  const std::unique_ptr<RecordWalker> rows_;
  const std::string folder_;  // the folder of the manifest
  std::deque<Row> ahead_;
  std::optional<Step> end_;  // of rows_
  Row current_;
  std::string last_path_;
  absl::StatusOr<DatasetFile> last_found_ = absl::UnknownError("");
};

}  // namespace

std::unique_ptr<RecordWalker> ManifestContainer::Walk(RecordWalker::Input input) const {
  std::string first(kMaxHeadBytes, '\0');
  size_t count = 0;
  // An error comes again with the next read.
  for (absl::StatusOr<size_t> got = size_t{1}; count < first.size() && got.ok() && *got > 0; count += got.value_or(0)) {
    got = input.source->Read(first.data() + count, first.size() - count);
  }
  first.resize(count);
  const ContainerKind kind = KindOf(first);
  RecordWalker::Input own{
      .file = input.file, .options = input.options, .kind = input.kind, .source = nullptr, .inflate = nullptr};
  own.options.progress = {};
  input.kind.container = kind;
  input.source = std::make_unique<PeekedSource>(std::move(first), std::move(input.source));
  return std::make_unique<ManifestWalker>(std::move(own), kind, Container::Of(kind).Walk(std::move(input)));
}

absl::StatusOr<std::string_view> ManifestContainer::DataOf(const ShardIndex& index, uint64_t k,
                                                           const RequestedFeatures* features,
                                                           const char* stored) const {
  return CheckedStoredLine(index, k, stored);
}

bool NeedFile(const RequestedFeatures* features) {
  if (features == nullptr) return true;
  const auto& requests = features->requests();
  return std::any_of(requests.begin(), requests.end(), [](const RequestedFeatures::Request& request) {
    return request.front().extension == kFileFeature;
  });
}

}  // namespace penstock::sources
