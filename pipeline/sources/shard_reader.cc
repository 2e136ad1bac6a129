#include "pipeline/sources/shard_reader.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/prefetch.h"
#include "base/status_macros.h"
#include "base/status_place.h"
#include "pipeline/sources/container.h"
#include "pipeline/sources/damage.h"
#include "pipeline/sources/file_frame.h"
#include "pipeline/sources/inflate_stream.h"
#include "pipeline/sources/manifest/manifest_container.h"
#include "pipeline/sources/record_buffer.h"

namespace penstock::sources {
namespace {

// Reads a file only past caches.
class PastCaches final : public RandomAccessFile {
 public:
  explicit PastCaches(const RandomAccessFile* file) : file_(file) {}
  absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t length, char* out) const override {
    return file_->ReadAtPastCaches(offset, length, out);
  }
  absl::StatusOr<FileInfo> Info() const override { return file_->Info(); }
  const std::string& path() const override { return file_->path(); }

 private:
  const RandomAccessFile* const file_;
};

}  // namespace

ShardReader::ShardReader(std::unique_ptr<RandomAccessFile> file, std::shared_ptr<const ShardIndex> index,
                         const ShardReaderOptions& options)
    : file_(std::move(file)),
      index_(std::move(index)),
      container_(Container::Of(index_->kind().container)),
      options_(options) {}

ShardReader::~ShardReader() = default;

absl::StatusOr<std::unique_ptr<ShardReader>> ShardReader::Open(std::unique_ptr<RandomAccessFile> file,
                                                               std::shared_ptr<const ShardIndex> index,
                                                               const ShardReaderOptions& options) {
  if (index->is_packed()) {
    std::unique_ptr<ShardReader> reader(new ShardReader(nullptr, index, options));
    PS_ASSIGN_OR_RETURN(reader->single_, Open(std::move(file), index->packs().records, options));
    return reader;
  }
  std::unique_ptr<ShardReader> reader(new ShardReader(std::move(file), std::move(index), options));
  PS_RETURN_IF_ERROR(reader->CheckUnchanged());
  return reader;
}

absl::StatusOr<std::unique_ptr<ShardReader>> ShardReader::Open(std::unique_ptr<storage::StoredFile> file,
                                                               std::shared_ptr<const ShardIndex> index,
                                                               const ShardReaderOptions& options) {
  if (index->is_packed()) {
    std::unique_ptr<ShardReader> reader(new ShardReader(nullptr, index, options));
    PS_ASSIGN_OR_RETURN(reader->single_, Open(std::move(file), index->packs().records, options));
    return reader;
  }
  const storage::StoredFile* const stored = file.get();
  PS_ASSIGN_OR_RETURN(std::unique_ptr<ShardReader> reader,
                      Open(std::unique_ptr<RandomAccessFile>(std::move(file)), std::move(index), options));
  reader->stored_ = stored;
  return reader;
}

absl::Status ShardReader::CheckUnchanged() const {
  PS_ASSIGN_OR_RETURN(const FileInfo info, file_->Info());
  if (info == index_->file_info()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(path(), " changed since it was indexed: it had ", index_->file_size,
                                                    " bytes and mtime ", index_->mtime_ns, " ns, now ", info.size,
                                                    " bytes and mtime ", info.mtime_ns, " ns; index it again"));
}

absl::Status ShardReader::CheckRange(uint64_t first, uint64_t count) const {
  const uint64_t records = index_->record_count();
  if (first <= records && count <= records - first) return absl::OkStatus();
  return absl::OutOfRangeError(
      absl::StrCat(path(), " has ", records, " records; there is no record ", std::max(first, records)));
}

uint64_t ShardReader::StoredBytes(uint64_t k, const RequestedFeatures* features) const {
  if (single_ != nullptr) return StoredBytesOfRow(k, features);
  const uint64_t bytes = index_->head().size() + container_.StoredBytes(*index_, k, features);
  if (!NamesFiles(index_->kind().container)) return bytes;
  return bytes + FileBytes(*index_, k, features) + kFileTrailerBytes;
}

absl::StatusOr<std::string_view> ShardReader::DataOf(uint64_t k, const RequestedFeatures* features,
                                                     const char* stored) const {
  absl::StatusOr<std::string_view> data = container_.DataOf(*index_, k, features, stored);
  if (data.ok()) return data;
  return AtPlace(absl::StrCat(path(), ", record ", index_->NumberInShard(k), " at offset ", index_->RecordOffset(k)),
                 data.status());
}

absl::StatusOr<std::string_view> ShardReader::DataIn(uint64_t k, const RequestedFeatures* features,
                                                     char* buffer) const {
  const std::string& head = index_->head();
  absl::StatusOr<std::string_view> data = DataOf(k, features, StoredIn(buffer));
  if (head.empty() || !data.ok()) return data;
  // The data of a container with a head begin with the stored bytes.
  std::memcpy(buffer, head.data(), head.size());
  if (NamesFiles(index_->kind().container)) return WithFile(k, features, buffer);
  return std::string_view(buffer, head.size() + data->size());
}

absl::StatusOr<const RestartPoint*> ShardReader::RestartPointOf(uint64_t offset) const {
  const std::vector<RestartPoint>& points = index_->restart_points;
  const auto point = std::upper_bound(points.begin(), points.end(), offset,
                                      [](uint64_t o, const RestartPoint& p) { return o < p.stream_offset; });
  // The first point is at 0, and a shard with records has one, so a point precedes `offset`.
  if (point == points.begin()) {
    return absl::DataLossError(absl::StrCat(path(), ": its index has no restart points"));
  }
  return &*std::prev(point);
}

absl::StatusOr<std::unique_ptr<InflateStream>> ShardReader::TakeCursor(uint64_t offset) const {
  PS_ASSIGN_OR_RETURN(const RestartPoint* const point, RestartPointOf(offset));
  {
    MutexLock lock(&mutex_);
    auto best = cursors_.end();
    for (auto it = cursors_.begin(); it != cursors_.end(); ++it) {
      const uint64_t at = (*it)->position();
      if (at > offset || at < point->stream_offset) continue;
      if (best == cursors_.end() || at > (*best)->position()) best = it;
    }
    if (best != cursors_.end()) {
      std::unique_ptr<InflateStream> cursor = std::move(*best);
      cursors_.erase(best);
      return cursor;
    }
  }
  return InflateStream::Resume(file_.get(), index_->kind().compression, *point);
}

void ShardReader::ReturnCursor(std::unique_ptr<InflateStream> cursor) const {
  std::unique_ptr<InflateStream> evicted;  // destroyed after the lock is released
  MutexLock lock(&mutex_);
  if (options_.max_cursors == 0) {
    evicted = std::move(cursor);
    return;
  }
  if (cursors_.size() >= options_.max_cursors) {
    evicted = std::move(cursors_.front());
    cursors_.erase(cursors_.begin());
  }
  cursors_.push_back(std::move(cursor));
}

absl::Status ShardReader::ReadInflated(std::span<const ByteRange> ranges, const RandomAccessFile* past_caches,
                                       char* out) const {
  std::unique_ptr<InflateStream> cursor;
  for (const ByteRange& range : ranges) {
    PS_ASSIGN_OR_RETURN(const RestartPoint* const point, RestartPointOf(range.offset));
    // A restart point between two ranges saves the bytes before it.
    if (cursor == nullptr || cursor->position() < point->stream_offset) {
      if (past_caches != nullptr) {
        PS_ASSIGN_OR_RETURN(cursor, InflateStream::Resume(past_caches, index_->kind().compression, *point));
      } else {
        if (cursor != nullptr) ReturnCursor(std::move(cursor));
        PS_ASSIGN_OR_RETURN(cursor, TakeCursor(range.offset));
      }
    }
    PS_RETURN_IF_ERROR(Inflate(cursor.get(), range, out));
    out += range.length;
  }
  if (past_caches == nullptr) ReturnCursor(std::move(cursor));
  return absl::OkStatus();
}

absl::Status ShardReader::Inflate(InflateStream* cursor, const ByteRange& range, char* out) const {
  const uint64_t ahead = range.offset - cursor->position();
  PS_ASSIGN_OR_RETURN(const uint64_t skipped, cursor->Skip(ahead));
  if (skipped < ahead) return absl::DataLossError(absl::StrCat(path(), ": its stream ends early"));
  for (uint64_t got = 0; got < range.length;) {
    PS_ASSIGN_OR_RETURN(const size_t n, cursor->Read(out + got, range.length - got));
    if (n == 0) return absl::DataLossError(absl::StrCat(path(), ": its stream ends early"));
    got += n;
  }
  return absl::OkStatus();
}

absl::Status ShardReader::ReadPlain(const RandomAccessFile& file, const ByteRange& range, char* out) const {
  PS_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(range.offset, range.length, out));
  return got == range.length ? absl::OkStatus() : absl::DataLossError(absl::StrCat(path(), " ends early"));
}

absl::Status ShardReader::ReadStored(uint64_t k, const RequestedFeatures* features, const RandomAccessFile* past_caches,
                                     char* out) const {
  const bool is_plain = index_->kind().compression == Compression::kNone;
  const RandomAccessFile& file = past_caches != nullptr ? *past_caches : *file_;
  if (features == nullptr) {
    const ByteRange whole{index_->RecordOffset(k), index_->StoredBytes(k)};
    return is_plain ? ReadPlain(file, whole, out) : ReadInflated({&whole, 1}, past_caches, out);
  }
  const std::vector<ByteRange> ranges = container_.RangesOf(*index_, k, *features);
  if (!is_plain) return ReadInflated(ranges, past_caches, out);
  for (const ByteRange& range : ranges) {
    PS_RETURN_IF_ERROR(ReadPlain(file, range, out));
    out += range.length;
  }
  return absl::OkStatus();
}

void ShardReader::WillRead(uint64_t k, const RequestedFeatures* features) const {
  if (single_ != nullptr) {
    if (!CheckRange(k, 1).ok()) return;
    const plan::RowParts parts = index_->PartsOf(k);
    if (const std::optional<ByteRange> range = RangeOfRow(parts, features)) {
      return single_->file_->WillRead(range->offset, range->length);
    }
    for (const plan::PackPart part : parts) single_->WillRead(part.record, features);
    return;
  }
  if (index_->kind().compression != Compression::kNone || !CheckRange(k, 1).ok()) return;
  PrefetchObject(file_.get());
  index_->WillLookAt(k);
  if (features == nullptr) return file_->WillRead(index_->RecordOffset(k), index_->StoredBytes(k));
  for (const ByteRange& range : container_.RangesOf(*index_, k, *features)) file_->WillRead(range.offset, range.length);
}

absl::StatusOr<std::string_view> ShardReader::ReadRecord(uint64_t k, char* buffer,
                                                         const RequestedFeatures* features) const {
  PS_RETURN_IF_ERROR(CheckRange(k, 1));
  if (single_ != nullptr) return ReadRow(k, buffer, features, /*past_caches=*/false);
  absl::Status read = ReadStored(k, features, nullptr, StoredIn(buffer));
  PS_RETURN_IF_ERROR(CheckUnchanged());
  if (read.ok() && FileBytes(*index_, k, features) > 0) read = ReadFile(k, false, FileIn(buffer, k));
  if (!read.ok()) return AtRecord(k, read);
  return DataIn(k, features, buffer);
}

absl::StatusOr<std::string_view> ShardReader::ReadRecordPastCaches(uint64_t k, char* buffer,
                                                                   const RequestedFeatures* features) const {
  PS_RETURN_IF_ERROR(CheckRange(k, 1));
  if (single_ != nullptr) return ReadRow(k, buffer, features, /*past_caches=*/true);
  const PastCaches file(file_.get());
  absl::Status read = ReadStored(k, features, &file, StoredIn(buffer));
  PS_RETURN_IF_ERROR(CheckUnchanged());
  if (read.ok() && FileBytes(*index_, k, features) > 0) read = ReadFile(k, true, FileIn(buffer, k));
  if (!read.ok()) return AtRecord(k, read);
  return DataIn(k, features, buffer);
}

absl::StatusOr<std::string_view> ShardReader::ReadLater(uint64_t k, const RequestedFeatures* features,
                                                        const absl::Status& read, char* buffer) const {
  if (read.ok()) return DataIn(k, features, buffer);
  if (absl::IsAborted(read) || absl::IsCancelled(read)) return read;
  return AtRecord(k, read);
}

// Reads of the ranges of one record.
class ShardReader::RangesRead {
 public:
  RangesRead(size_t ranges, absl::AnyInvocable<void(const absl::Status&) &&> done)
      : left_(ranges), done_(std::move(done)) {}

  void End(size_t range, absl::Status status) {
    absl::Status first;
    {
      MutexLock lock(&mutex_);
      // Always the same error of several, because errors of wrong reads are compared.
      if (!status.ok() && range < failed_) {
        failed_ = range;
        status_ = std::move(status);
      }
      if (--left_ > 0) return;
      first = status_;
    }
    std::move(done_)(first);
  }

 private:
  Mutex mutex_;
  size_t left_ ABSL_GUARDED_BY(mutex_);
  size_t failed_ ABSL_GUARDED_BY(mutex_) = SIZE_MAX;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  absl::AnyInvocable<void(const absl::Status&) &&> done_;  // called by the last read
};

void ShardReader::ReadRecordLater(uint64_t k, char* buffer, const RequestedFeatures* features,
                                  const storage::CallOptions& options, storage::CallDone<std::string_view> done) const {
  if (const absl::Status status = CheckRange(k, 1); !status.ok()) {
    std::move(done)(status);
    return;
  }
  if (single_ != nullptr) return ReadRowLater(k, buffer, features, options, std::move(done));
  const auto whole = [this](const absl::StatusOr<size_t>& got, uint64_t length) {
    if (got.ok() && *got < length) return absl::DataLossError(absl::StrCat(path(), " ends early"));
    return got.status();
  };
  static const RequestedFeatures contents({{{.extension = std::string(kFileFeature)}}});
  if (features == nullptr && NamesFiles(index_->kind().container)) features = &contents;
  if (features == nullptr) {
    const uint64_t length = index_->StoredBytes(k);
    stored_->Read(index_->RecordOffset(k), length, StoredIn(buffer), options,
                  [this, whole, k, length, buffer, done = std::move(done)](const absl::StatusOr<size_t>& got) mutable {
                    std::move(done)(ReadLater(k, nullptr, whole(got, length), buffer));
                  });
    return;
  }
  const std::vector<ByteRange> ranges = container_.RangesOf(*index_, k, *features);
  const bool has_file = FileBytes(*index_, k, features) > 0;
  const auto read = std::make_shared<RangesRead>(
      ranges.size() + (has_file ? 1 : 0),
      [this, k, features, buffer, done = std::move(done)](const absl::Status& status) mutable {
        std::move(done)(ReadLater(k, features, status, buffer));
      });
  // The reader may be destroyed when the last read has ended.
  const size_t count = ranges.size();
  char* out = StoredIn(buffer);
  if (has_file) {
    ReadFileLater(k, FileIn(buffer, k), options, [read, count](const absl::Status& file) { read->End(count, file); });
  }
  for (size_t i = 0; i < count; ++i) {
    stored_->Read(ranges[i].offset, ranges[i].length, out, options,
                  [whole, read, i, length = ranges[i].length](const absl::StatusOr<size_t>& got) {
                    read->End(i, whole(got, length));
                  });
    out += ranges[i].length;
  }
}

absl::StatusOr<std::string_view> ShardReader::RecordOf(uint64_t k, char* stored, const RequestedFeatures* features,
                                                       RecordBuffer* with_head) const {
  if (!index_->head().empty()) return CopyOf(k, stored, features, with_head->Get(StoredBytes(k, features)));
  MoveStored(k, stored, features, stored);
  return DataOf(k, features, stored);
}

absl::StatusOr<std::string_view> ShardReader::CopyOf(uint64_t k, const char* stored, const RequestedFeatures* features,
                                                     char* buffer) const {
  MoveStored(k, stored, features, StoredIn(buffer));
  return DataIn(k, features, buffer);
}

void ShardReader::MoveStored(uint64_t k, const char* stored, const RequestedFeatures* features, char* out) const {
  if (features == nullptr) {
    if (out != stored) std::memcpy(out, stored, index_->StoredBytes(k));
    return;
  }
  for (const ByteRange& range : container_.RangesOf(*index_, k, *features)) {
    std::memmove(out, stored + (range.offset - index_->RecordOffset(k)), range.length);
    out += range.length;
  }
}

absl::Status ShardReader::ReadBytes(uint64_t first, uint64_t count, char* out) const {
  PS_RETURN_IF_ERROR(CheckRange(first, count));
  const absl::Status read = ReadPlain(*file_, {index_->RecordOffset(first), index_->RangeBytes(first, count)}, out);
  PS_RETURN_IF_ERROR(CheckUnchanged());
  return read;
}

void ShardReader::ReadBytesLater(uint64_t first, uint64_t count, std::vector<ReadPart> parts,
                                 const storage::CallOptions& options,
                                 absl::AnyInvocable<void(const absl::Status&) &&> done) const {
  if (const absl::Status status = CheckRange(first, count); !status.ok()) return std::move(done)(status);
  const uint64_t length = index_->RangeBytes(first, count);
  stored_->ReadParts(index_->RecordOffset(first), std::move(parts), options,
                     [this, length, done = std::move(done)](const absl::StatusOr<size_t>& got) mutable {
                       if (got.ok() && *got < length)
                         return std::move(done)(absl::DataLossError(path() + " ends early"));
                       std::move(done)(got.status());
                     });
}

absl::Status ShardReader::ReadRecord(uint64_t k, std::string* record) const {
  PS_RETURN_IF_ERROR(CheckRange(k, 1));
  record->resize(StoredBytes(k, nullptr));
  PS_ASSIGN_OR_RETURN(const std::string_view data, ReadRecord(k, record->data()));
  const size_t bytes = data.size();
  record->erase(0, static_cast<size_t>(data.data() - record->data()));
  record->resize(bytes);
  return absl::OkStatus();
}

absl::Status ShardReader::AtRecord(uint64_t k, const absl::Status& status) const {
  const absl::Status placed(status.code(), absl::StrCat("record ", index_->NumberInShard(k), " at offset ",
                                                        index_->RecordOffset(k), ": ", status.message()));
  if (const Fault fault = FaultOf(status); fault != Fault::kOther) return WithFault(fault, placed);
  return absl::IsDataLoss(placed) ? WithFault(Fault::kWrongCrc, placed) : placed;
}

}  // namespace penstock::sources
