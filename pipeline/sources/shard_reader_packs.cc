// Reads of the rows of a packed index.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pipeline/sources/container.h"
#include "pipeline/sources/file_frame.h"
#include "pipeline/sources/pack_frame.h"
#include "pipeline/sources/shard_reader.h"

namespace penstock::sources {
namespace {

// Moves records, which are in `buffer` in their order, behind their header at its front. Returns the row.
std::string_view Join(const std::vector<FramedPart>& parts, char* buffer) {
  char* out = buffer + PackHeaderBytes(parts.size());
  for (const FramedPart& part : parts) {
    // A record's stored bytes are at least its data, so `out` never passes the next record.
    if (!part.record.empty()) std::memmove(out, part.record.data(), part.record.size());
    out += part.record.size();
  }
  StorePackHeader(parts, buffer);
  return {buffer, static_cast<size_t>(out - buffer)};
}

FramedPart Framed(const ShardIndex& records, const plan::PackPart& part, std::string_view record) {
  return {static_cast<uint32_t>(records.NumberInShard(part.record)), part.first, part.count, record};
}

}  // namespace

uint64_t ShardReader::DataBytes(const ShardIndex& index, uint64_t k, const RequestedFeatures* features) {
  if (index.is_packed()) {
    const plan::RowParts parts = index.PartsOf(k);
    uint64_t bytes = PackHeaderBytes(parts.size());
    for (const plan::PackPart part : parts) bytes += DataBytes(*index.packs().records, part.record, features);
    return bytes;
  }
  const ContainerKind container = index.kind().container;
  const uint64_t file = NamesFiles(container) ? FileBytes(index, k, features) + kFileTrailerBytes : 0;
  if (features == nullptr) return index.head().size() + index.RecordLength(k) + file;
  return index.head().size() + Container::Of(container).StoredBytes(index, k, features) + file;
}

uint64_t ShardReader::StoredBytesOfRow(uint64_t row, const RequestedFeatures* features) const {
  const plan::RowParts parts = index_->PartsOf(row);
  uint64_t bytes = 0;
  for (const plan::PackPart part : parts) bytes += single_->StoredBytes(part.record, features);
  if (const std::optional<ByteRange> range = RangeOfRow(parts, features)) {
    bytes = std::max(bytes, single_->index().head().size() * parts.size() + range->length);
  }
  return PackHeaderBytes(parts.size()) + bytes;
}

std::optional<ByteRange> ShardReader::RangeOfRow(const plan::RowParts& parts, const RequestedFeatures* features) const {
  const ShardIndex& records = single_->index();
  const bool may_be_one = features == nullptr && parts.size() > 1 && records.is_in_file_order() &&
                          records.kind().compression == Compression::kNone && !NamesFiles(records.kind().container);
  if (!may_be_one) return std::nullopt;
  const uint64_t first = parts[0].record;
  uint64_t stored = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].record != first + i) return std::nullopt;
    stored += records.StoredBytes(first + i);
  }
  const ByteRange range{records.RecordOffset(first), records.RangeBytes(first, parts.size())};
  return range.length <= 2 * stored ? std::optional(range) : std::nullopt;
}

absl::StatusOr<std::string_view> ShardReader::RowOfRange(uint64_t row, const ByteRange& range, const char* stored,
                                                         char* buffer) const {
  const plan::RowParts parts = index_->PartsOf(row);
  const ShardIndex& records = single_->index();
  const std::string& head = records.head();
  std::vector<FramedPart> framed;
  framed.reserve(parts.size());
  char* out = buffer + PackHeaderBytes(parts.size());
  for (const plan::PackPart part : parts) {
    const char* const record = stored + (records.RecordOffset(part.record) - range.offset);
    PS_ASSIGN_OR_RETURN(const std::string_view data, single_->DataOf(part.record, nullptr, record));
    // The buffer has room for a head of each record before the range, so this never passes the next record.
    if (!data.empty()) std::memmove(out + head.size(), data.data(), data.size());
    if (!head.empty()) std::memcpy(out, head.data(), head.size());
    framed.push_back(Framed(records, part, {out, head.size() + data.size()}));
    out += head.size() + data.size();
  }
  StorePackHeader(framed, buffer);
  return std::string_view(buffer, static_cast<size_t>(out - buffer));
}

absl::StatusOr<std::string_view> ShardReader::ReadRow(uint64_t row, char* buffer, const RequestedFeatures* features,
                                                      bool past_caches) const {
  const plan::RowParts parts = index_->PartsOf(row);
  if (const std::optional<ByteRange> range = past_caches ? std::nullopt : RangeOfRow(parts, features)) {
    char* const out = buffer + StoredBytesOfRow(row, features) - range->length;
    const absl::Status fetched = single_->ReadPlain(*single_->file_, *range, out);
    PS_RETURN_IF_ERROR(single_->CheckUnchanged());
    if (fetched.ok()) return RowOfRange(row, *range, out, buffer);
    // Reads of single records find the record with the error.
  }
  std::vector<FramedPart> framed;
  framed.reserve(parts.size());
  char* at = buffer + PackHeaderBytes(parts.size());
  for (const plan::PackPart part : parts) {
    PS_ASSIGN_OR_RETURN(const std::string_view record, past_caches
                                                           ? single_->ReadRecordPastCaches(part.record, at, features)
                                                           : single_->ReadRecord(part.record, at, features));
    framed.push_back(Framed(single_->index(), part, record));
    at += single_->StoredBytes(part.record, features);
  }
  return Join(framed, buffer);
}

// Reads of the records of one row.
class ShardReader::RowRead {
 public:
  RowRead(std::vector<FramedPart> parts, char* buffer, storage::CallDone<std::string_view> done)
      : buffer_(buffer),
        parts_(std::move(parts)),
        left_(parts_.size()),
        first_failed_(parts_.size()),
        done_(std::move(done)) {}

  void End(size_t part, const absl::StatusOr<std::string_view>& record) {
    absl::Status status;
    {
      MutexLock lock(&mutex_);
      // Always the same error of several, because errors of wrong reads are compared.
      if (!record.ok() && part < first_failed_) {
        first_failed_ = part;
        status_ = record.status();
      }
      if (record.ok()) parts_[part].record = *record;
      if (--left_ > 0) return;
      status = status_;
    }
    if (!status.ok()) return std::move(done_)(status);
    std::move(done_)(Join(parts_, buffer_));
  }

 private:
  char* const buffer_;
  Mutex mutex_;
  // The last read uses the members without the lock.
  std::vector<FramedPart> parts_;
  size_t left_ ABSL_GUARDED_BY(mutex_);
  size_t first_failed_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  storage::CallDone<std::string_view> done_;
};

void ShardReader::ReadRowLater(uint64_t row, char* buffer, const RequestedFeatures* features,
                               const storage::CallOptions& options, storage::CallDone<std::string_view> done) const {
  const plan::RowParts parts = index_->PartsOf(row);
  if (const std::optional<ByteRange> range = RangeOfRow(parts, features)) {
    char* const stored = buffer + StoredBytesOfRow(row, features) - range->length;
    single_->stored_->Read(
        range->offset, range->length, stored, options,
        [this, row, range = *range, stored, buffer, done = std::move(done)](const absl::StatusOr<size_t>& got) mutable {
          if (got.ok() && *got == range.length) return std::move(done)(RowOfRange(row, range, stored, buffer));
          const absl::Status error = got.ok() ? absl::DataLossError(absl::StrCat(path(), " ends early")) : got.status();
          // The first record stands for all of them.
          std::move(done)(single_->ReadLater(index_->PartsOf(row)[0].record, nullptr, error, buffer));
        });
    return;
  }
  std::vector<FramedPart> framed;
  for (const plan::PackPart part : parts) framed.push_back(Framed(single_->index(), part, {}));
  const auto read = std::make_shared<RowRead>(std::move(framed), buffer, std::move(done));
  char* at = buffer + PackHeaderBytes(parts.size());
  std::vector<char*> buffers;
  for (const plan::PackPart part : parts) {
    buffers.push_back(at);
    at += single_->StoredBytes(part.record, features);
  }
  // The reader may be destroyed when the last read has ended.
  const ShardReader& single = *single_;
  for (size_t i = 0, count = parts.size(); i < count; ++i) {
    single.ReadRecordLater(parts[i].record, buffers[i], features, options,
                           [read, i](const absl::StatusOr<std::string_view>& record) { read->End(i, record); });
  }
}

}  // namespace penstock::sources
