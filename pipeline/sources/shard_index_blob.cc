#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/little_endian.h"
#include "base/status_macros.h"
#include "base/wire.h"
#include "pipeline/sources/record_limits.h"
#include "pipeline/sources/shard_index.h"
#include "pipeline/sources/shard_index_bytes.h"

// The blob. Numbers are varints (LEB128) unless noted:
//   "PSIX", u32 version, u8 compression,
//   in version 3, which is written only for other containers than TFRecord, in version 4, which is written only for an
//   index of selected records, and in version 5, which is written only for records with equal steps: u8 container,
//   file size, u64 mtime_ns, u64 content hash,
//   in version 2, which is written only if there is a tag, and in later ones: bytes of the tag, the tag,
//   records, the length of each,
//   in versions 3, 4 and 5: sections, for each: its number, its bytes, content. A reader skips the sections that it
//   does not know.
//     1: for each gap: its record as difference to the last, its bytes
//     2: reserved; indexes of tar archives without members had it
//     3: the members of all records (member_table.cc); only for a container without checksums
//     4: in version 4, and in version 5 for selected records, u64 content hash of the index of all records, the records
//     of the shard, those of them that are
//        bad and left out, and the number of each record in the shard, as difference to the last number + 1
//     5: the head, if there is one; only for a container with one
//     6: with section 4, if the records have groups: the number of groups, the bytes of each name, the name, and for
//        each record the number of its group
//     7: in version 5, before the others: the offset of record 0 of the shard, the bytes from one record to the next,
//        and 1 for an index of selected records, otherwise 0
//     8: the files of all records (file_table.cc); only for a container whose records name files
//   restart points, for each: stream offset and file offset as differences to the last, u8 bits | stream_start << 7,
//     window bytes, window,
//   u64 XXH64 of all before.  Fixed-width numbers are little-endian.
// Versions 6 and 7, of packed indexes, have other parts (shard_index_packs.cc).
namespace penstock::sources {
namespace {

constexpr uint32_t kVersion = 1;
constexpr uint32_t kVersionWithTag = 2;
constexpr uint32_t kVersionWithSections = 3;
constexpr uint32_t kVersionOfSelected = 4;
constexpr uint32_t kVersionWithSteps = 5;
// All gaps of a shard together.
constexpr uint64_t kMaxGapBytes = uint64_t{1} << 60;
constexpr uint64_t kGapSection = 1;
constexpr uint64_t kMemberSection = 3;
constexpr uint64_t kNumberSection = 4;
constexpr uint64_t kHeadSection = 5;
constexpr uint64_t kGroupSection = 6;
constexpr uint64_t kStepSection = 7;
constexpr uint64_t kFileSection = 8;
// ETags and generations are short.
constexpr uint64_t kMaxTagBytes = 1024;
constexpr uint8_t kStreamStart = 0x80;
constexpr size_t kChecksumBytes = 8;
// No compressed window is larger than this: 32 KiB and zlib's own overhead.
constexpr uint64_t kMaxWindowBytes = 33 << 10;

void AppendSection(uint64_t number, std::string_view content, std::string* out) {
  AppendVarint(number, out);
  AppendVarint(content.size(), out);
  out->append(content);
}

absl::Status ParseRestartPoints(WireReader* in, uint64_t stream_size, uint64_t file_size,
                                std::vector<RestartPoint>* points) {
  uint64_t count = 0;
  // Each takes at least 4 bytes, so a forged count allocates nothing.
  if (!in->ReadVarint(&count) || count > in->left() / 4) return DamagedIndex("restart points");
  points->reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t stream_step = 0, file_step = 0, window_bytes = 0;
    uint8_t bits = 0;
    std::string_view window;
    if (!in->ReadVarint(&stream_step) || !in->ReadVarint(&file_step) || !ReadFixed(in, &bits) ||
        !in->ReadVarint(&window_bytes) || window_bytes > kMaxWindowBytes ||
        !in->ReadBytes(static_cast<size_t>(window_bytes), &window)) {
      return DamagedIndex("a restart point");
    }
    RestartPoint point;
    const uint64_t last_stream = i == 0 ? 0 : points->back().stream_offset;
    const uint64_t last_file = i == 0 ? 0 : points->back().file_offset;
    if (stream_step > stream_size - last_stream || file_step > file_size - last_file || (i == 0 && stream_step != 0) ||
        (i > 0 && stream_step == 0)) {
      return DamagedIndex("the order of restart points");
    }
    point.stream_offset = last_stream + stream_step;
    point.file_offset = last_file + file_step;
    point.stream_start = (bits & kStreamStart) != 0;
    point.bits = bits & 0x7f;
    if (point.bits > 7 || (point.bits > 0 && (point.stream_start || point.file_offset == 0)) ||
        (point.stream_start && !window.empty())) {
      return DamagedIndex("the bits of a restart point");
    }
    point.window = std::string(window);
    points->push_back(std::move(point));
  }
  return absl::OkStatus();
}

}  // namespace

std::string GroupSection(const IndexGroups& groups) {
  std::string out;
  AppendVarint(groups.names.size(), &out);
  for (const std::string& name : groups.names) {
    AppendVarint(name.size(), &out);
    out += name;
  }
  for (const uint32_t group : groups.of_records) AppendVarint(group, &out);
  return out;
}

std::string ShardIndex::Serialize() const {
  std::string out(kIndexMagic);
  if (is_packed()) {
    AppendFixed(packs_.windows == nullptr ? kVersionOfPacked : kVersionOfWindows, &out);
    out += SerializePacks();
    AppendFixed(Hash64(out), &out);
    return out;
  }
  const bool sections = selected_ || kind_.container != ContainerKind::kTfRecord;
  AppendFixed(step_bytes_ > 0 ? kVersionWithSteps
              : selected_     ? kVersionOfSelected
              : sections      ? kVersionWithSections
              : tag.empty()   ? kVersion
                              : kVersionWithTag,
              &out);
  AppendFixed(static_cast<uint8_t>(kind_.compression), &out);
  if (sections) AppendFixed(static_cast<uint8_t>(kind_.container), &out);
  AppendVarint(file_size, &out);
  AppendFixed(mtime_ns, &out);
  AppendFixed(content_hash, &out);
  if (sections || !tag.empty()) {
    AppendVarint(tag.size(), &out);
    out += tag;
  }
  AppendVarint(lengths_.size(), &out);
  for (const uint32_t length : lengths_) AppendVarint(length, &out);
  if (sections) {
    const bool has_members = !HasChecksums(kind_.container);
    AppendVarint(1 + (has_members ? 1 : 0) + (selected_ ? 1 : 0) + (head_.empty() ? 0 : 1) +
                     (group_names_.empty() ? 0 : 1) + (step_bytes_ > 0 ? 1 : 0) + (NamesFiles(kind_.container) ? 1 : 0),
                 &out);
    if (step_bytes_ > 0) {
      std::string steps;
      AppendVarint(first_offset_, &steps);
      AppendVarint(step_bytes_, &steps);
      AppendVarint(selected_ ? 1 : 0, &steps);
      AppendSection(kStepSection, steps, &out);
    }
    std::string gaps;
    uint64_t record = 0;
    for (const Gap& gap : gaps_) {
      AppendVarint(gap.record - record, &gaps);
      AppendVarint(gap.bytes, &gaps);
      record = gap.record;
    }
    AppendSection(kGapSection, gaps, &out);
    if (has_members) AppendSection(kMemberSection, members_.Serialize(), &out);
    if (!head_.empty()) AppendSection(kHeadSection, head_, &out);
    if (NamesFiles(kind_.container)) AppendSection(kFileSection, files_.Serialize(), &out);
    if (selected_) {
      std::string numbers;
      AppendFixed(whole_hash_, &numbers);
      AppendVarint(shard_records_, &numbers);
      AppendVarint(left_out_, &numbers);
      uint64_t next = 0;
      for (const uint32_t number : numbers_) {
        AppendVarint(number - next, &numbers);
        next = uint64_t{number} + 1;
      }
      AppendSection(kNumberSection, numbers, &out);
    }
    if (!group_names_.empty()) AppendSection(kGroupSection, GroupSection(Groups()), &out);
  }
  AppendVarint(restart_points.size(), &out);
  uint64_t stream_offset = 0, file_offset = 0;
  for (const RestartPoint& point : restart_points) {
    AppendVarint(point.stream_offset - stream_offset, &out);
    AppendVarint(point.file_offset - file_offset, &out);
    AppendFixed(static_cast<uint8_t>(point.bits | (point.stream_start ? kStreamStart : 0)), &out);
    AppendVarint(point.window.size(), &out);
    out += point.window;
    stream_offset = point.stream_offset;
    file_offset = point.file_offset;
  }
  AppendFixed(Hash64(out), &out);
  return out;
}

absl::Status ShardIndex::ParseNumbers(std::string_view section, size_t records) {
  WireReader in(section);
  if (!ReadFixed(&in, &whole_hash_) || !in.ReadVarint(&shard_records_) || !in.ReadVarint(&left_out_) ||
      records > in.left()) {
    return DamagedIndex("its numbers");
  }
  numbers_.reserve(records);
  uint64_t next = 0;
  for (size_t i = 0; i < records; ++i) {
    uint64_t step = 0;
    if (!in.ReadVarint(&step) || step >= shard_records_ || next + step >= shard_records_) {
      return DamagedIndex("a number");
    }
    numbers_.push_back(static_cast<uint32_t>(next + step));
    next += step + 1;
  }
  return in.done() && shard_records_ <= UINT32_MAX ? absl::OkStatus() : DamagedIndex("its numbers");
}

absl::Status ShardIndex::ParseGroups(std::string_view section, size_t records) {
  WireReader in(section);
  IndexGroups groups;
  uint64_t names = 0;
  if (!in.ReadVarint(&names) || names == 0 || names > records || names > in.left() || !group_names_.empty()) {
    return DamagedIndex("its groups");
  }
  for (uint64_t i = 0; i < names; ++i) {
    std::string_view name;
    if (!in.ReadLengthPrefixed(&name) || (i > 0 && name <= groups.names.back()))
      return DamagedIndex("the name of a group");
    groups.names.emplace_back(name);
  }
  std::vector<bool> has_record(names, false);
  for (size_t i = 0; i < records; ++i) {
    uint64_t group = 0;
    if (!in.ReadVarint(&group) || group >= names) return DamagedIndex("a group");
    groups.of_records.push_back(static_cast<uint32_t>(group));
    has_record[group] = true;
  }
  if (!in.done() || std::find(has_record.begin(), has_record.end(), false) != has_record.end()) {
    return DamagedIndex("its groups");
  }
  SetGroups(groups);
  return absl::OkStatus();
}

absl::Status ShardIndex::ParseSteps(std::string_view section, std::span<const uint32_t> lengths) {
  WireReader in(section);
  uint64_t first = 0, step = 0, selected = 0;
  if (!in.ReadVarint(&first) || !in.ReadVarint(&step) || !in.ReadVarint(&selected) || !in.done()) {
    return DamagedIndex("its steps");
  }
  const bool is_even = std::all_of(lengths.begin(), lengths.end(), [&](uint32_t each) { return each == lengths[0]; });
  if (kind_.container != ContainerKind::kNpy || step == 0 || step > kMaxStepBytes || first > kMaxGapBytes ||
      selected > 1 || !is_even || step_bytes_ > 0) {
    return DamagedIndex("its steps");
  }
  SetSteps(first, step);
  selected_ = selected == 1;
  return absl::OkStatus();
}

absl::Status ShardIndex::ParseSections(uint32_t version, WireReader* in, std::span<const uint32_t> lengths,
                                       std::vector<Gap>* gaps) {
  uint64_t sections = 0;
  bool has_members = HasChecksums(kind_.container), has_numbers = false;
  if (!in->ReadVarint(&sections)) return DamagedIndex("its sections");
  for (uint64_t i = 0; i < sections; ++i) {
    uint64_t number = 0;
    std::string_view content;
    if (!in->ReadVarint(&number) || !in->ReadLengthPrefixed(&content)) return DamagedIndex("a section");
    if (number == kMemberSection) {
      if (HasChecksums(kind_.container)) return DamagedIndex("its members");
      std::optional<MemberTable> table = MemberTable::Parse(content, lengths);
      if (!table.has_value()) return DamagedIndex("its members");
      members_ = *std::move(table);
      has_members = true;
    }
    if (number == kFileSection) {
      std::optional<FileTable> table =
          NamesFiles(kind_.container) ? FileTable::Parse(content, lengths.size()) : std::nullopt;
      if (!table.has_value()) return DamagedIndex("its files");
      files_ = *std::move(table);
    }
    if (number == kHeadSection) {
      if (!HasHead(kind_.container) || content.size() > kMaxHeadBytes || !content.ends_with('\n')) {
        return DamagedIndex("its head");
      }
      head_ = content;
    }
    if (number == kNumberSection && selected_ && !has_numbers) {
      PS_RETURN_IF_ERROR(ParseNumbers(content, lengths.size()));
      has_numbers = true;
    }
    if (number == kGroupSection) {
      if (!selected_) return DamagedIndex("its groups");
      PS_RETURN_IF_ERROR(ParseGroups(content, lengths.size()));
    }
    if (number == kStepSection && version == kVersionWithSteps) PS_RETURN_IF_ERROR(ParseSteps(content, lengths));
    if (number != kGapSection) continue;
    WireReader gap_reader(content);
    uint64_t stream = 0;
    while (!gap_reader.done()) {
      uint64_t step = 0, bytes = 0;
      if (!gap_reader.ReadVarint(&step) || !gap_reader.ReadVarint(&bytes)) return DamagedIndex("a gap");
      const uint64_t last = gaps->empty() ? 0 : gaps->back().record;
      if (step >= lengths.size() - last || (step == 0 && !gaps->empty()) || bytes == 0 ||
          bytes > kMaxGapBytes - stream) {
        return DamagedIndex("a gap");
      }
      stream += bytes;
      gaps->push_back({last + step, bytes});
    }
  }
  if (selected_ && !has_numbers) return DamagedIndex("its numbers");
  if ((version == kVersionWithSteps) != (step_bytes_ > 0) || (step_bytes_ > 0 && !gaps->empty())) {
    return DamagedIndex("its steps");
  }
  if (HasHead(kind_.container) && !lengths.empty() && head_.empty()) return DamagedIndex("its head");
  if (NamesFiles(kind_.container) && files_.records() != lengths.size()) return DamagedIndex("its files");
  if (has_members) return absl::OkStatus();
  return absl::FailedPreconditionError("a shard index of an earlier release, without the members of its samples");
}

absl::StatusOr<ShardIndex> ShardIndex::Parse(std::string_view blob) {
  if (blob.size() < kIndexMagic.size() + sizeof(kVersion) + kChecksumBytes ||
      blob.substr(0, kIndexMagic.size()) != kIndexMagic) {
    return absl::DataLossError("not a shard index");
  }
  const uint32_t version = LoadLittleEndian<uint32_t>(blob.data() + kIndexMagic.size());
  if (version < kVersion || version > kVersionOfWindows) {
    return absl::FailedPreconditionError(
        absl::StrCat("a shard index of version ", version, "; this release reads versions up to ", kVersionOfWindows));
  }
  const std::string_view body = blob.substr(0, blob.size() - kChecksumBytes);
  if (Hash64(body) != LoadLittleEndian<uint64_t>(blob.data() + body.size())) {
    return DamagedIndex("wrong checksum");
  }

  if (version >= kVersionOfPacked) return ParsePacks(version, body.substr(kIndexMagic.size() + sizeof(kVersion)));

  WireReader in(body.substr(kIndexMagic.size() + sizeof(kVersion)));
  const bool has_sections = version >= kVersionWithSections;
  uint8_t compression = 0, container = 0;
  if (!ReadFixed(&in, &compression) || (has_sections && !ReadFixed(&in, &container))) return DamagedIndex("header");
  if (compression < static_cast<uint8_t>(Compression::kNone) ||
      compression > static_cast<uint8_t>(Compression::kZlib)) {
    return DamagedIndex("unknown compression");
  }
  if (version == kVersionWithSections && container == static_cast<uint8_t>(ContainerKind::kTfRecord)) {
    return DamagedIndex("the container is that of version 1");
  }
  if (container > static_cast<uint8_t>(kLastContainer)) {
    return absl::FailedPreconditionError(
        absl::StrCat("a shard index of container ", container, ", which this release does not know"));
  }
  ShardIndex index({static_cast<Compression>(compression), static_cast<ContainerKind>(container)});
  index.selected_ = version == kVersionOfSelected;
  uint64_t records = 0;
  if (!in.ReadVarint(&index.file_size) || !ReadFixed(&in, &index.mtime_ns) || !ReadFixed(&in, &index.content_hash)) {
    return DamagedIndex("header");
  }
  if (version != kVersion) {
    uint64_t tag_bytes = 0;
    std::string_view tag;
    if (!in.ReadVarint(&tag_bytes) || (tag_bytes == 0 && !has_sections) || tag_bytes > kMaxTagBytes ||
        !in.ReadBytes(static_cast<size_t>(tag_bytes), &tag)) {
      return DamagedIndex("the tag");
    }
    index.tag = std::string(tag);
  }
  if (!in.ReadVarint(&records) || records > in.left()) return DamagedIndex("header");
  std::vector<uint32_t> lengths;
  lengths.reserve(records);
  for (uint64_t i = 0; i < records; ++i) {
    uint64_t length = 0;
    if (!in.ReadVarint(&length) || length > kLargestMaxRecordBytes) return DamagedIndex("a length");
    lengths.push_back(static_cast<uint32_t>(length));
  }
  std::vector<Gap> gaps;
  if (has_sections) PS_RETURN_IF_ERROR(index.ParseSections(version, &in, lengths, &gaps));
  auto gap = gaps.begin();
  for (uint64_t i = 0; i < records; ++i) {
    if (gap != gaps.end() && gap->record == i) index.AppendGap((gap++)->bytes);
    index.AppendLength(lengths[i]);
  }
  if (NamesFiles(index.kind_.container)) index.SetFiles(std::move(index.files_));
  PS_RETURN_IF_ERROR(ParseRestartPoints(&in, index.stream_size_, index.file_size, &index.restart_points));
  if (!in.done()) return DamagedIndex("bytes after its end");
  const bool plain = index.kind_.compression == Compression::kNone;
  // A tar archive has blocks after its last record. A selection may leave out the last record.
  const bool whole = index.kind_.container == ContainerKind::kTfRecord && !index.selected_;
  if (plain && (whole ? index.stream_size_ != index.file_size : index.stream_size_ > index.file_size)) {
    return DamagedIndex("its records do not add up to the file");
  }
  if (plain ? !index.restart_points.empty() : (index.stream_size_ > 0 && index.restart_points.empty())) {
    return DamagedIndex("restart points do not fit the compression");
  }
  index.Compact();
  return index;
}

}  // namespace penstock::sources
