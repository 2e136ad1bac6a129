// Packed indexes: their rows, and their blob.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "pipeline/sources/file_frame.h"
#include "pipeline/sources/pack_frame.h"
#include "pipeline/sources/record_limits.h"
#include "pipeline/sources/shard_index.h"
#include "pipeline/sources/shard_index_bytes.h"

// The body of a blob of version 6, after its version. Numbers are varints:
//   rows; for each row: its parts, and for each part: its record, its first value, the number of its values;
//   bytes of the blob of the index of the single records, that blob.
namespace penstock::sources {
namespace {

std::string RowSection(const plan::RecordPacks& rows) {
  std::string out;
  AppendVarint(rows.rows(), &out);
  for (size_t row = 0; row < rows.rows(); ++row) {
    const auto parts = rows.Row(row);
    AppendVarint(parts.size(), &out);
    for (const plan::PackPart& part : parts) {
      AppendVarint(part.record, &out);
      AppendVarint(part.first, &out);
      AppendVarint(part.count, &out);
    }
  }
  return out;
}

absl::Status ParseRows(WireReader* in, plan::RecordPacks* packs) {
  uint64_t rows = 0;
  // A row takes at least 4 bytes, and a part 3, so a forged number allocates nothing.
  if (!in->ReadVarint(&rows) || rows > in->left() / 4) return DamagedIndex("its rows");
  packs->ends.reserve(rows);
  for (uint64_t row = 0; row < rows; ++row) {
    uint64_t parts = 0;
    if (!in->ReadVarint(&parts) || parts == 0 || parts > in->left() / 3) return DamagedIndex("a row");
    for (uint64_t i = 0; i < parts; ++i) {
      uint64_t record = 0, first = 0, count = 0;
      if (!in->ReadVarint(&record) || !in->ReadVarint(&first) || !in->ReadVarint(&count) || record > UINT32_MAX ||
          first > UINT32_MAX || count > UINT32_MAX) {
        return DamagedIndex("a part of a row");
      }
      packs->parts.push_back(
          {static_cast<uint32_t>(record), static_cast<uint32_t>(first), static_cast<uint32_t>(count)});
    }
    if (packs->parts.size() > UINT32_MAX) return DamagedIndex("its parts");
    packs->ends.push_back(static_cast<uint32_t>(packs->parts.size()));
  }
  packs->parts.shrink_to_fit();
  return absl::OkStatus();
}

}  // namespace

bool IndexPacks::operator==(const IndexPacks& other) const {
  if ((records == nullptr) != (other.records == nullptr)) return false;
  return rows == other.rows && (records == nullptr || *records == *other.records);
}

ShardIndex ShardIndex::Packed(plan::RecordPacks rows) const {
  PS_CHECK(!is_packed() && places_.empty());
  ShardIndex made(kind_);
  made.frame_bytes_ = 0;
  made.whole_hash_ = selected_ ? whole_hash_ : content_hash;
  made.file_size = file_size;
  made.mtime_ns = mtime_ns;
  made.tag = tag;
  made.content_hash = HashWords({content_hash, Hash64(RowSection(rows))});
  for (size_t row = 0; row < rows.rows(); ++row) {
    const auto parts = rows.Row(row);
    uint64_t bytes = PackHeaderBytes(parts.size()) + head_.size() * parts.size();
    for (const plan::PackPart& part : parts) {
      PS_CHECK(part.record < record_count());
      bytes += RecordLength(part.record);
      if (NamesFiles(kind_.container)) bytes += files_.Bytes(part.record) + kFileTrailerBytes;
    }
    made.AppendLength(static_cast<uint32_t>(std::min(bytes, kLargestMaxRecordBytes)));
  }
  made.packs_ = {std::make_shared<const ShardIndex>(*this), std::move(rows)};
  made.Compact();
  return made;
}

std::string ShardIndex::SerializePacks() const {
  std::string out = RowSection(packs_.rows);
  const std::string records = packs_.records->Serialize();
  AppendVarint(records.size(), &out);
  return out + records;
}

absl::StatusOr<ShardIndex> ShardIndex::ParsePacks(std::string_view body) {
  WireReader in(body);
  plan::RecordPacks rows;
  PS_RETURN_IF_ERROR(ParseRows(&in, &rows));
  std::string_view blob;
  if (!in.ReadLengthPrefixed(&blob) || !in.done() || IsPackedIndex(blob)) {
    return DamagedIndex("the index of its records");
  }
  PS_ASSIGN_OR_RETURN(const ShardIndex records, Parse(blob));
  const auto is_outside = [&](const plan::PackPart& part) { return part.record >= records.record_count(); };
  if (!records.places_.empty() || std::any_of(rows.parts.begin(), rows.parts.end(), is_outside)) {
    return DamagedIndex("the records of its rows");
  }
  return records.Packed(std::move(rows));
}

}  // namespace penstock::sources
