#include "pipeline/records/record_walker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "pipeline/records/byte_source.h"
#include "pipeline/records/crc32c.h"
#include "pipeline/records/file_kind.h"
#include "pipeline/records/inflate_stream.h"

namespace penstock {
namespace {

constexpr size_t kPiece = 256 << 10;
constexpr uint64_t kProgressStep = uint64_t{4} << 20;

}  // namespace

RecordWalker::RecordWalker(const RandomAccessFile* file, const WalkOptions& options) : file_(file), options_(options) {}

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
  std::unique_ptr<RecordWalker> walker(new RecordWalker(file, options));
  walker->compression_ = options.compression;
  if (options.compression == Compression::kAuto) {
    PS_ASSIGN_OR_RETURN(walker->compression_, DetectCompression(*file));
  }
  if (walker->compression_ == Compression::kNone) {
    PS_ASSIGN_OR_RETURN(const FileInfo info, file->Info());
    walker->source_ = std::make_unique<PlainSource>(file, info.size);
  } else {
    PS_ASSIGN_OR_RETURN(auto stream, InflateStream::Start(file, walker->compression_, recorder));
    walker->inflate_ = stream.get();
    walker->source_ = std::move(stream);
  }
  return walker;
}

absl::Status RecordWalker::ReadFully(char* out, size_t length, size_t* got) {
  *got = 0;
  while (*got < length) {
    const absl::StatusOr<size_t> n = source_->Read(out + *got, length - *got);
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
    const absl::StatusOr<uint64_t> n = source_->Skip(length - *got);
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

absl::Status RecordWalker::ReadData(std::string* data, uint64_t* got) {
  *got = 0;
  uint32_t crc = 0;
  if (data != nullptr) data->clear();
  if (data == nullptr) scratch_.resize(kPiece);
  while (*got < length_) {
    const size_t want = static_cast<size_t>(std::min<uint64_t>(length_ - *got, kPiece));
    if (data != nullptr) data->resize(*got + want);
    char* const piece = data != nullptr ? data->data() + *got : scratch_.data();
    size_t n = 0;
    PS_RETURN_IF_ERROR(ReadFully(piece, want, &n));
    crc = Crc32cExtend(crc, {piece, n});
    *got += n;
    ReportProgress(false);
    if (n < want) return absl::OkStatus();
  }
  size_t footer = 0;
  PS_RETURN_IF_ERROR(ReadFully(footer_, kRecordFooterBytes, &footer));
  *got += footer;
  data_is_right_ = MaskCrc(crc) == LoadLittleEndian<uint32_t>(footer_);
  return absl::OkStatus();
}

absl::StatusOr<RecordWalker::Step> RecordWalker::Next(std::string* data) {
  record_ = next_record_;
  offset_ = next_offset_;
  length_ = 0;
  data_is_right_ = true;

  size_t got = 0;
  PS_RETURN_IF_ERROR(ReadFully(header_, kRecordHeaderBytes, &got));
  if (got == 0 && stream_damage_.ok()) {
    ReportProgress(true);
    return Step::kEnd;
  }
  if (got < kRecordHeaderBytes) return BreakShort(Damage::kTruncatedHeader, got, kRecordHeaderBytes);
  if (!HeaderCrcIsRight(header_)) return Break(Damage::kLengthCrc, "");
  length_ = HeaderLength(header_);
  if (length_ > options_.max_record_bytes) {
    return Break(Damage::kTooLong, absl::StrCat("the limit is ", options_.max_record_bytes));
  }

  uint64_t body = 0;
  if (options_.check_data || data != nullptr) {
    PS_RETURN_IF_ERROR(ReadData(data, &body));
  } else {
    PS_RETURN_IF_ERROR(SkipFully(length_, &body));
    if (body == length_) {
      PS_RETURN_IF_ERROR(ReadFully(footer_, kRecordFooterBytes, &got));
      body += got;
    }
  }
  if (body < length_ + kRecordFooterBytes) {
    return BreakShort(Damage::kTruncatedData, body, length_ + kRecordFooterBytes);
  }
  next_record_ = record_ + 1;
  next_offset_ = offset_ + length_ + kRecordFrameBytes;
  ReportProgress(false);
  return Step::kRecord;
}

std::string RecordWalker::OtherKind() const {
  char first[kKindBytes];
  if (inflate_ == nullptr) {
    const absl::StatusOr<size_t> got = file_->ReadAt(0, kKindBytes, first);
    return got.ok() ? WhatElseItIs({first, *got}, false) : "";
  }
  const auto again = InflateStream::Start(file_, compression_, nullptr);
  const absl::StatusOr<size_t> got = again.ok() ? (*again)->Read(first, kKindBytes) : again.status();
  return got.ok() ? WhatElseItIs({first, *got}, true) : "";
}

RecordWalker::Step RecordWalker::Break(Damage damage, std::string detail) {
  data_is_right_ = true;
  if (std::string other = record_ == 0 ? OtherKind() : ""; !other.empty()) {
    damage = Damage::kOtherKind;
    detail = std::move(other);
  }
  damage_ = damage;
  detail_ = std::move(detail);
  ReportProgress(true);
  return Step::kBroken;
}

RecordWalker::Step RecordWalker::BreakShort(Damage truncated, uint64_t got, uint64_t wanted) {
  if (stream_damage_.ok()) {
    return Break(truncated, absl::StrCat("after ", got, " of ", wanted, " bytes"));
  }
  const bool at_border = truncated == Damage::kTruncatedHeader && got == 0;
  Damage damage = Damage::kCompression;
  switch (inflate_->damage()) {
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
  const std::string prefix = file_->path() + ": ";
  if (what.substr(0, prefix.size()) == prefix) what.remove_prefix(prefix.size());
  return Break(damage, std::string(what));
}

void RecordWalker::ReportProgress(bool end) {
  if (!options_.progress) return;
  const uint64_t now = source_->file_position();
  if (now - reported_ < kProgressStep && !end) return;
  if (now > reported_) options_.progress(now - reported_);
  reported_ = now;
}

absl::Status RecordWalker::BrokenStatus() const {
  const BrokenRecord broken{
      .record = record_, .offset = offset_, .length = length_, .damage = data_is_right_ ? damage_ : Damage::kDataCrc};
  if (broken.damage == Damage::kOtherKind) {
    return OtherKindOfFile(absl::StrCat(file_->path(), ": ", detail_));
  }
  std::string message =
      absl::StrCat(file_->path(), ": ", DescribeDamage(broken, detail_), "; ", record_,
                   record_ == 1 ? " record before it is readable" : " records before it are readable");
  if (broken.damage == Damage::kTooLong) return absl::ResourceExhaustedError(message);
  return absl::DataLossError(message);
}

}  // namespace penstock
