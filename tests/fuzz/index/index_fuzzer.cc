// Any bytes as an index blob, also with a right checksum: rejected, or an index that harms no reader.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/hash.h"
#include "base/little_endian.h"
#include "pipeline/sources/container.h"
#include "pipeline/sources/pack_frame.h"
#include "pipeline/sources/requested_features.h"
#include "pipeline/sources/shard_index.h"
#include "pipeline/sources/shard_reader.h"

namespace {

using penstock::sources::ByteRange;
using penstock::sources::MemberTable;
using penstock::sources::RequestedFeatures;

// The members of a record are its stored bytes, and the ranges of features are parts of them.
void CheckMembers(const penstock::sources::ShardIndex& index, uint64_t k) {
  static const auto* const features =
      new RequestedFeatures({{{"cls"}}, {{"png"}, {"jpg"}}, {{"json", false}, {"txt"}}});
  const MemberTable& table = index.members();
  const uint64_t place = index.PlaceOf(k);
  PS_CHECK(table.First(place) < table.First(place + 1));
  uint64_t bytes = 0;
  for (uint64_t member = table.First(place); member < table.First(place + 1); ++member) bytes += table.bytes(member);
  PS_CHECK(bytes == index.StoredBytes(k));
  uint64_t at = index.RecordOffset(k);
  const uint64_t end = at + bytes;
  for (const ByteRange& range :
       penstock::sources::Container::Of(index.kind().container).RangesOf(index, k, *features)) {
    PS_CHECK(range.offset >= at && range.length <= end - range.offset);
    at = range.offset + range.length;
  }
}

// Each record belongs to one group, and those of a group are in the order of the file.
void CheckGroups(const penstock::sources::ShardIndex& index) {
  uint64_t k = 0;
  PS_CHECK(index.is_selected() && index.group_names().size() == index.group_records().size());
  for (const uint32_t records : index.group_records()) {
    PS_CHECK(records > 0);
    for (uint64_t first = k; k < first + records; ++k) {
      PS_CHECK(k == first || index.NumberInShard(k - 1) < index.NumberInShard(k));
    }
  }
  PS_CHECK(k == index.record_count());
}

// Limit of the parts of rows that a run looks at: windows share records.
constexpr uint64_t kMostParts = uint64_t{1} << 20;

// Each row has records of the index of single records, and its size is that of their bytes.
void CheckRows(const penstock::sources::ShardIndex& index) {
  const penstock::sources::ShardIndex& records = *index.packs().records;
  PS_CHECK(!records.is_packed() && records.group_names().empty() && index.members().records() == 0);
  const auto& windows = index.packs().windows;
  PS_CHECK(index.record_count() == (windows == nullptr ? index.packs().rows.rows() : windows->rows));
  uint64_t looked_at = 0;
  for (uint64_t row = 0; row < index.record_count() && looked_at < kMostParts; ++row) {
    const penstock::plan::RowParts parts = index.PartsOf(row);
    looked_at += parts.size();
    PS_CHECK(parts.size() > 0 && index.RecordOffset(row) == records.RecordOffset(parts[0].record));
    for (const penstock::plan::PackPart part : parts) PS_CHECK(part.record < records.record_count());
    const uint64_t bytes = penstock::sources::ShardReader::DataBytes(index, row, nullptr);
    PS_CHECK(index.RecordLength(row) == std::min<uint64_t>(bytes, UINT32_MAX));
  }
}

// Any bytes as a row of packed records: rejected, or its records are in it.
void CheckFrame(std::string_view row) {
  static auto* const parts = new std::vector<penstock::sources::FramedPart>();
  if (!penstock::sources::ParsePack(row, parts).ok()) return;
  size_t bytes = penstock::sources::PackHeaderBytes(parts->size());
  for (const penstock::sources::FramedPart& part : *parts) {
    PS_CHECK(part.record.data() == row.data() + bytes);
    bytes += part.record.size();
  }
  PS_CHECK(bytes == row.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string blob(reinterpret_cast<const char*>(data), size);
  CheckFrame(blob);
  (void)penstock::sources::ShardIndex::Parse(blob);
  char checksum[8];
  penstock::StoreLittleEndian<uint64_t>(penstock::Hash64(blob), checksum);
  blob.append(checksum, sizeof(checksum));
  const auto index = penstock::sources::ShardIndex::Parse(blob);
  if (!index.ok()) return 0;
  PS_CHECK(index->MemoryBytes() <= 64 * size + 4096);
  const auto again = penstock::sources::ShardIndex::Parse(index->Serialize());
  PS_CHECK(again.ok() && *again == *index);
  if (index->is_packed()) {
    CheckRows(*index);
    return 0;
  }
  const uint64_t records = index->record_count();
  const bool has_members = !penstock::sources::HasChecksums(index->kind().container);
  for (uint64_t k = 0; k < records; ++k) {
    const uint64_t end = index->RecordOffset(k) + index->StoredBytes(k);
    // A TFRecord file has no gaps between its records, except in a selection.
    const bool has_gaps =
        index->kind().container != penstock::sources::ContainerKind::kTfRecord || index->is_selected();
    const bool may_have_gap = has_gaps && k + 1 < records;
    PS_CHECK(index->NumberInShard(k) < index->shard_records());
    if (index->group_names().empty()) {
      PS_CHECK(k == 0 || index->RecordOffset(k - 1) < index->RecordOffset(k) || index->StoredBytes(k) == 0);
    }
    if (index->is_in_file_order()) {
      PS_CHECK(k == 0 || index->NumberInShard(k - 1) < index->NumberInShard(k));
      PS_CHECK(may_have_gap ? end <= index->RecordOffset(k + 1) : end == index->RecordOffset(k + 1));
    }
    PS_CHECK(end <= index->stream_size());
    PS_CHECK(index->RangeBytes(k, 1) == index->StoredBytes(k));
    if (has_members) CheckMembers(*index, k);
  }
  if (!index->group_names().empty()) CheckGroups(*index);
  PS_CHECK(index->members().records() == (has_members ? records : 0));
  PS_CHECK(index->RecordOffset(records) == index->stream_size());
  return 0;
}
