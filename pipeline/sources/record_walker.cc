#include "pipeline/sources/record_walker.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pipeline/sources/container.h"
#include "pipeline/sources/crc32c.h"
#include "pipeline/sources/file_kind.h"
#include "pipeline/sources/inflate_stream.h"
#include "pipeline/sources/npy/megatron_index.h"
#include "pipeline/sources/record_limits.h"

namespace penstock::sources {
namespace {

constexpr size_t kPiece = 256 << 10;
constexpr uint64_t kProgressStep = uint64_t{4} << 20;

// Returns the kind of a file that is not a shard, or "" if it is unknown.
std::string OtherKindOf(const RandomAccessFile& file, Compression compression) {
  char first[kKindBytes];
  if (compression == Compression::kNone) {
    const absl::StatusOr<size_t> got = file.ReadAt(0, kKindBytes, first);
    return got.ok() ? WhatElseItIs({first, *got}, false, file.path()) : "";
  }
  const auto stream = InflateStream::Start(&file, compression, nullptr);
  const absl::StatusOr<size_t> got = stream.ok() ? (*stream)->Read(first, kKindBytes) : stream.status();
  return got.ok() ? WhatElseItIs({first, *got}, true, file.path()) : "";
}

// The name of a container in a job, and the first bytes that prove it.
struct SourceText {
  const char *name, *beginning;
};

SourceText SourceTextOf(ContainerKind container) {
  switch (container) {
    case ContainerKind::kTar:
      return {"TAR", "a tar header"};
    case ContainerKind::kJsonl:
      return {"JSONL", "text"};
    case ContainerKind::kText:
      return {"TEXT", "text"};
    case ContainerKind::kCsv:
      return {"CSV", "text"};
    case ContainerKind::kTsv:
      return {"TSV", "text"};
    case ContainerKind::kNpy:
      return {"NPY", "the magic of a .npy file"};
    case ContainerKind::kManifest:
      return {"MANIFEST", "text"};
    case ContainerKind::kTfRecord:
      break;
  }
  return {"TFRECORD", "a record"};
}

// Returns the error of a shard that has another container than its job names.
absl::Status WrongContainer(const RandomAccessFile& file, const ShardKind& kind, ContainerKind expected) {
  const SourceText source = SourceTextOf(expected);
  bool is_proved = kind.container != ContainerKind::kTfRecord;
  if (!is_proved) {
    PS_ASSIGN_OR_RETURN(is_proved, BeginsWithRecord(file, kind.compression));
  }
  if (is_proved) {
    return absl::InvalidArgumentError(absl::StrCat(
        file.path(), ": this is ", std::string(Container::Of(kind.container).FileNoun()), ", but dataset.source is ",
        source.name, "; leave `source` out, or leave the file out of dataset.files"));
  }
  if (const std::string other = OtherKindOf(file, kind.compression); !other.empty()) {
    return OtherKindOfFile(absl::StrCat(file.path(), ": ", other));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      file.path(), ": dataset.source is ", source.name, ", but the file does not begin with ", source.beginning,
      ": it is damaged, or of another kind; write it again, or leave it out of dataset.files"));
}

// Returns the kind of a file of numbers without a header. Any bytes are numbers, so returns InvalidArgument if they
// prove another kind: a shard with a header or checksums, a compressed file, or the index of Megatron's files.
absl::StatusOr<ShardKind> KindOfNumbers(const RandomAccessFile& file, Compression compression) {
  const Compression stored = compression == Compression::kAuto ? Compression::kNone : compression;
  PS_ASSIGN_OR_RETURN(const ShardKind found, DetectShardKind(file, stored));
  bool is_proved = found.container != ContainerKind::kTfRecord;
  if (!is_proved) {
    PS_ASSIGN_OR_RETURN(is_proved, BeginsWithRecord(file, stored));
  }
  char first[kMegatronMagic.size()] = {};
  PS_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(0, sizeof(first), first));
  const std::string_view begin(first, got);
  std::string what = is_proved ? std::string(Container::Of(found.container).FileNoun()) : "";
  if (begin == kMegatronMagic) what = "the index of Megatron's tokens";
  if (!what.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(file.path(), ": this is ", what,
                                                   ", but dataset.source names numbers without a header; leave the "
                                                   "file out of dataset.files, or name its kind"));
  }
  if (compression == Compression::kAuto && begin.starts_with("\x1f\x8b\x08")) {
    return absl::InvalidArgumentError(absl::StrCat(
        file.path(), ": this begins as a GZIP file; name compression: GZIP, or NONE if these bytes are numbers"));
  }
  return ShardKind{stored, ContainerKind::kNpy};
}

}  // namespace

RecordWalker::RecordWalker(Input input) : input_(std::move(input)) {}

RecordWalker::~RecordWalker() = default;

absl::StatusOr<std::unique_ptr<RecordWalker>> RecordWalker::Start(const RandomAccessFile* file,
                                                                  const WalkOptions& options) {
  return Start(file, options, nullptr);
}

absl::StatusOr<std::unique_ptr<RecordWalker>> RecordWalker::Start(const RandomAccessFile* file,
                                                                  const WalkOptions& options,
                                                                  RestartRecorder* recorder) {
  if (options.max_record_bytes > kLargestMaxRecordBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a record limit of ", options.max_record_bytes,
                                                   " bytes is above the largest, ", kLargestMaxRecordBytes));
  }
  Input input{.file = file, .options = options, .kind = {}, .source = nullptr, .inflate = nullptr};
  if (!options.windows.type.empty() && options.windows.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        file->path(), ": numbers without a header need dataset.window, such as window { size: 1025 stride: 1024 }"));
  }
  if (!options.windows.has_numbers()) {
    PS_ASSIGN_OR_RETURN(input.kind, DetectShardKind(*file, options.compression, options.container));
  } else {
    PS_ASSIGN_OR_RETURN(input.kind, KindOfNumbers(*file, options.compression));
  }
  if (options.container.has_value() && options.container != input.kind.container) {
    return WrongContainer(*file, input.kind, *options.container);
  }
  if (!options.windows.empty() && input.kind.container != ContainerKind::kNpy) {
    bool is_proved = input.kind.container != ContainerKind::kTfRecord;
    if (!is_proved) {
      PS_ASSIGN_OR_RETURN(is_proved, BeginsWithRecord(*file, input.kind.compression));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        file->path(), ": dataset.window is for arrays, and this is ",
        is_proved ? absl::StrCat(std::string(Container::Of(input.kind.container).FileNoun()),
                                 "; leave it out, or make windows of its records: select { window { size: 24 } }")
                  : "no .npy file; for numbers without a header name their type: source: UINT16, UINT32 or INT32"));
  }
  if (input.kind.compression == Compression::kNone) {
    PS_ASSIGN_OR_RETURN(const FileInfo info, file->Info());
    input.source = std::make_unique<PlainSource>(file, info.size);
  } else {
    PS_ASSIGN_OR_RETURN(auto stream, InflateStream::Start(file, input.kind.compression, recorder));
    input.inflate = stream.get();
    input.source = std::move(stream);
  }
  const Container& container = Container::Of(input.kind.container);
  return container.Walk(std::move(input));
}

absl::Status RecordWalker::ReadFully(char* out, size_t length, size_t* got) {
  *got = 0;
  while (*got < length) {
    const absl::StatusOr<size_t> n = input_.source->Read(out + *got, length - *got);
    if (!n.ok()) {
      if (!absl::IsDataLoss(n.status())) return n.status();
      stream_damage_ = n.status();
      return absl::OkStatus();
    }
    if (*n == 0) return absl::OkStatus();
    *got += *n;
  }
  return absl::OkStatus();
}

absl::Status RecordWalker::SkipFully(uint64_t length, uint64_t* got) {
  *got = 0;
  while (*got < length) {
    const absl::StatusOr<uint64_t> n = input_.source->Skip(length - *got);
    if (!n.ok()) {
      if (!absl::IsDataLoss(n.status())) return n.status();
      stream_damage_ = n.status();
      return absl::OkStatus();
    }
    if (*n == 0) return absl::OkStatus();
    *got += *n;
    ReportProgress(false);
  }
  return absl::OkStatus();
}

absl::Status RecordWalker::ReadPieces(uint64_t length, std::string* data, std::initializer_list<uint32_t*> crcs,
                                      uint64_t* got) {
  *got = 0;
  if (data == nullptr) scratch_.resize(kPiece);
  const size_t before = data != nullptr ? data->size() : 0;
  while (*got < length) {
    const size_t want = static_cast<size_t>(std::min<uint64_t>(length - *got, kPiece));
    if (data != nullptr) data->resize(before + *got + want);
    char* const piece = data != nullptr ? data->data() + before + *got : scratch_.data();
    size_t n = 0;
    PS_RETURN_IF_ERROR(ReadFully(piece, want, &n));
    for (uint32_t* const crc : crcs) *crc = Crc32cExtend(*crc, {piece, n});
    *got += n;
    ReportProgress(false);
    if (n < want) break;
  }
  return absl::OkStatus();
}

RecordWalker::Step RecordWalker::Break(Damage damage, std::string detail) {
  data_is_right_ = true;
  // A stream of any kind has the container TFRecord if it is not known to have another.
  const bool other_possible = record_ == 0 && kind().container == ContainerKind::kTfRecord;
  if (std::string other = other_possible ? OtherKindOf(*input_.file, kind().compression) : ""; !other.empty()) {
    damage = Damage::kOtherKind;
    detail = std::move(other);
  }
  damage_ = damage;
  detail_ = std::move(detail);
  ReportProgress(true);
  return Step::kBroken;
}

RecordWalker::Step RecordWalker::BreakShort(Damage truncated, uint64_t got, uint64_t wanted, std::string_view place) {
  if (stream_damage_.ok()) {
    return Break(truncated,
                 absl::StrCat(absl::string_view(place.data(), place.size()), "after ", got, " of ", wanted, " bytes"));
  }
  const bool at_border = truncated == Damage::kTruncatedHeader && got == 0;
  Damage damage = Damage::kCompression;
  switch (input_.inflate->damage()) {
    case InflateStream::Damage::kTruncated:
      damage = at_border ? Damage::kTrailer : truncated;
      break;
    case InflateStream::Damage::kTrailer:
      damage = at_border ? Damage::kTrailer : Damage::kCompression;
      break;
    case InflateStream::Damage::kCorrupt:
    case InflateStream::Damage::kNone:
      break;
  }
  // Removes the path, because every message begins with it.
  std::string_view what(stream_damage_.message().data(), stream_damage_.message().size());
  const std::string prefix = input_.file->path() + ": ";
  if (what.substr(0, prefix.size()) == prefix) what.remove_prefix(prefix.size());
  return Break(damage, std::string(place).append(what));
}

void RecordWalker::ReportProgress(bool end) {
  if (!options().progress) return;
  const uint64_t now = input_.source->file_position();
  if (now - reported_ < kProgressStep && !end) return;
  if (now > reported_) options().progress(now - reported_);
  reported_ = now;
}

absl::Status RecordWalker::BrokenStatus() const {
  const BrokenRecord broken{
      .record = record_, .offset = offset_, .length = length_, .damage = data_is_right_ ? damage_ : Damage::kDataCrc};
  if (broken.damage == Damage::kOtherKind) {
    return OtherKindOfFile(absl::StrCat(input_.file->path(), ": ", detail_));
  }
  const std::string noun(Container::Of(kind().container).RecordNoun());
  std::string message = absl::StrCat(input_.file->path(), ": ", DescribeDamage(broken, detail_), "; ", record_, " ",
                                     noun, record_ == 1 ? " before it is readable" : "s before it are readable");
  if (broken.damage == Damage::kTooLong) return absl::ResourceExhaustedError(message);
  return absl::DataLossError(message);
}

}  // namespace penstock::sources
