#include "pipeline/sources/shard_index.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "pipeline/sources/shard_index_bytes.h"

namespace penstock::sources {

uint64_t ShardIndex::RecordOffset(uint64_t k) const {
  PS_CHECK(k <= lengths_.size());
  if (is_packed() && k < lengths_.size()) return packs_.records->RecordOffset(PartsOf(k)[0].record);
  return k == lengths_.size() ? stream_size_ : OffsetAt(PlaceOf(k));
}

uint64_t ShardIndex::OffsetAt(uint64_t place) const {
  if (step_bytes_ > 0) return first_offset_ + (selected_ ? numbers_[place] : place) * step_bytes_;
  const uint64_t block = place / kBlockRecords;
  uint64_t offset = offsets_[block];
  for (uint64_t i = block * kBlockRecords; i < place; ++i) offset += uint64_t{lengths_[i]} + frame_bytes_;
  if (gaps_.empty()) return offset;
  for (uint64_t gap = block < next_gaps_.size() ? next_gaps_[block] : 0;
       gap < gaps_.size() && gaps_[gap].record <= place; ++gap) {
    offset += gaps_[gap].bytes;
  }
  return offset;
}

void ShardIndex::AppendGap(uint64_t bytes) {
  if (bytes == 0) return;
  if (gaps_.empty() || gaps_.back().record != lengths_.size()) gaps_.push_back({lengths_.size(), 0});
  gaps_.back().bytes += bytes;
  stream_size_ += bytes;
}

void ShardIndex::AppendRecord(uint32_t length, std::span<const RecordMember> members) {
  AppendLength(length);
  if (!HasChecksums(kind_.container)) members_.AppendRecord(members);
}

void ShardIndex::SetFiles(FileTable files) {
  PS_CHECK(NamesFiles(kind_.container) && files.records() == record_count());
  files_ = std::move(files);
  for (uint64_t k = 0; k < files_.records(); ++k) {
    data_bytes_ += files_.Bytes(k);
    const uint64_t bytes = uint64_t{lengths_[k]} + files_.Bytes(k);
    longest_ = std::max(longest_, static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX)));
  }
}

void ShardIndex::AppendLength(uint32_t length) {
  if (lengths_.size() % kBlockRecords == 0) {
    offsets_.push_back(stream_size_);
    if (!gaps_.empty()) {
      next_gaps_.resize(offsets_.size());  // no gap is before the earlier blocks
      next_gaps_.back() = gaps_.size();
    }
  }
  lengths_.push_back(length);
  if (step_bytes_ > 0) stream_size_ = OffsetAt(lengths_.size() - 1);
  stream_size_ += uint64_t{length} + frame_bytes_;
  data_bytes_ += length;
  longest_ = std::max(longest_, length);
}

// Numbers the records in the order of their groups.
void ShardIndex::SetGroups(const IndexGroups& groups) {
  group_names_ = groups.names;
  group_records_.assign(groups.names.size(), 0);
  for (const uint32_t group : groups.of_records) ++group_records_[group];
  std::vector<uint32_t> next(groups.names.size(), 0);
  for (size_t group = 1; group < next.size(); ++group) next[group] = next[group - 1] + group_records_[group - 1];
  places_.resize(groups.of_records.size());
  for (uint32_t place = 0; place < places_.size(); ++place) places_[next[groups.of_records[place]]++] = place;
}

IndexGroups ShardIndex::Groups() const {
  IndexGroups groups{group_names_, std::vector<uint32_t>(places_.size())};
  size_t k = 0;
  for (uint32_t group = 0; group < group_records_.size(); ++group) {
    for (const size_t end = k + group_records_[group]; k < end; ++k) groups.of_records[places_[k]] = group;
  }
  return groups;
}

ShardIndex ShardIndex::Selected(std::span<const uint32_t> numbers, uint64_t left_out, const IndexGroups& groups) const {
  PS_CHECK(places_.empty());
  if (packs_.windows != nullptr) {
    ShardIndex made = packs_.records->WithoutRows();
    std::string hashed;
    for (const uint32_t number : numbers) {
      made.AppendLength(lengths_[number]);
      made.numbers_.push_back(static_cast<uint32_t>(NumberInShard(number)));
      AppendFixed(number, &hashed);
    }
    made.packs_ = packs_;
    made.content_hash = HashWords({content_hash, Hash64(hashed)});
    made.Compact();
    return made;
  }
  if (is_packed()) {
    plan::RecordPacks rows;
    for (const uint32_t number : numbers) {
      PS_CHECK(number < record_count());
      const auto row = packs_.rows.Row(number);
      rows.parts.insert(rows.parts.end(), row.begin(), row.end());
      rows.ends.push_back(static_cast<uint32_t>(rows.parts.size()));
    }
    ShardIndex made = packs_.records->Packed(std::move(rows));
    for (const uint32_t number : numbers) made.numbers_.push_back(static_cast<uint32_t>(NumberInShard(number)));
    return made;
  }
  if (numbers.size() == record_count() && groups.names.empty()) return *this;
  ShardIndex made(kind_);
  made.selected_ = true;
  made.shard_records_ = shard_records();
  made.left_out_ = left_out;
  made.whole_hash_ = content_hash;
  made.file_size = file_size;
  made.mtime_ns = mtime_ns;
  made.tag = tag;
  made.SetSteps(first_offset_, step_bytes_);
  std::string hashed;
  for (const uint32_t number : numbers) {
    PS_CHECK(number < record_count() && (made.numbers_.empty() || NumberInShard(number) > made.numbers_.back()));
    AppendFixed(number, &hashed);
    made.numbers_.push_back(static_cast<uint32_t>(NumberInShard(number)));
    if (step_bytes_ == 0) made.AppendGap(RecordOffset(number) - made.stream_size_);
    made.AppendLength(lengths_[number]);
  }
  if (!HasChecksums(kind_.container)) made.members_ = members_.Selected(numbers);
  if (NamesFiles(kind_.container)) made.SetFiles(files_.Selected(numbers));
  made.head_ = head_;
  for (const RestartPoint& point : restart_points) {
    if (point.stream_offset < made.stream_size_) made.restart_points.push_back(point);
  }
  made.content_hash = HashWords({content_hash, Hash64(hashed)});
  if (!groups.names.empty()) {
    PS_CHECK(groups.of_records.size() == numbers.size());
    made.SetGroups(groups);
    made.content_hash = HashWords({made.content_hash, Hash64(GroupSection(groups))});
  }
  made.Compact();
  return made;
}

void ShardIndex::Compact() {
  lengths_.shrink_to_fit();
  offsets_.shrink_to_fit();
  next_gaps_.shrink_to_fit();
  members_.Compact();
  files_.Compact();
  gaps_.shrink_to_fit();
  numbers_.shrink_to_fit();
  places_.shrink_to_fit();
  restart_points.shrink_to_fit();
}

size_t ShardIndex::MemoryBytes() const {
  size_t bytes = lengths_.capacity() * sizeof(lengths_[0]) + offsets_.capacity() * sizeof(offsets_[0]) +
                 next_gaps_.capacity() * sizeof(next_gaps_[0]) + members_.MemoryBytes() + files_.MemoryBytes() +
                 head_.capacity() + gaps_.capacity() * sizeof(Gap) + numbers_.capacity() * sizeof(numbers_[0]) +
                 places_.capacity() * sizeof(places_[0]) + group_records_.capacity() * sizeof(group_records_[0]) +
                 restart_points.capacity() * sizeof(RestartPoint);
  if (is_packed()) {
    bytes += packs_.records->MemoryBytes() + packs_.rows.parts.capacity() * sizeof(plan::PackPart) +
             packs_.rows.ends.capacity() * sizeof(uint32_t);
    if (packs_.windows != nullptr) bytes += packs_.windows->runs.capacity() * sizeof(plan::RecordWindows::Run);
  }
  for (const std::string& name : group_names_) bytes += sizeof(name) + name.capacity();
  for (const RestartPoint& point : restart_points) bytes += point.window.capacity();
  return bytes;
}

}  // namespace penstock::sources
