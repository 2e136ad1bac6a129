#include "pipeline/records/shard_index.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "pipeline/records/wire.h"

// The blob. Numbers are varints (LEB128) unless noted:
//   "PSIX", u32 version, u8 compression, file size, u64 mtime_ns, u64 content hash,
//   in version 2, which is written only if there is a tag: bytes of the tag, the tag,
//   records, the length of each,
//   restart points, for each: stream offset and file offset as differences to the last, u8 bits | stream_start << 7,
//     window bytes, window,
//   u64 XXH64 of all before.  Fixed-width numbers are little-endian.
namespace penstock {
namespace {

constexpr std::string_view kMagic = "PSIX";
constexpr uint32_t kVersion = 1;
constexpr uint32_t kVersionWithTag = 2;
// ETags and generations are short.
constexpr uint64_t kMaxTagBytes = 1024;
constexpr uint8_t kStreamStart = 0x80;
constexpr size_t kChecksumBytes = 8;
// No compressed window is larger than this: 32 KiB and zlib's own overhead.
constexpr uint64_t kMaxWindowBytes = 33 << 10;

absl::Status Damaged(std::string_view what) {
  return absl::DataLossError(absl::StrCat("damaged shard index: ", absl::string_view(what.data(), what.size())));
}

template <typename T>
void AppendFixed(T value, std::string* out) {
  char bytes[sizeof(T)];
  StoreLittleEndian(value, bytes);
  out->append(bytes, sizeof(bytes));
}

template <typename T>
bool ReadFixed(WireReader* in, T* value) {
  std::string_view bytes;
  if (!in->ReadBytes(sizeof(T), &bytes)) return false;
  *value = LoadLittleEndian<T>(bytes.data());
  return true;
}

absl::Status ParseRestartPoints(WireReader* in, uint64_t stream_size, uint64_t file_size,
                                std::vector<RestartPoint>* points) {
  uint64_t count = 0;
  // Each takes at least 4 bytes, so a forged count allocates nothing.
  if (!in->ReadVarint(&count) || count > in->left() / 4) return Damaged("restart points");
  points->reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t stream_step = 0, file_step = 0, window_bytes = 0;
    uint8_t bits = 0;
    std::string_view window;
    if (!in->ReadVarint(&stream_step) || !in->ReadVarint(&file_step) || !ReadFixed(in, &bits) ||
        !in->ReadVarint(&window_bytes) || window_bytes > kMaxWindowBytes ||
        !in->ReadBytes(static_cast<size_t>(window_bytes), &window)) {
      return Damaged("a restart point");
    }
    RestartPoint point;
    const uint64_t last_stream = i == 0 ? 0 : points->back().stream_offset;
    const uint64_t last_file = i == 0 ? 0 : points->back().file_offset;
    if (stream_step > stream_size - last_stream || file_step > file_size - last_file || (i == 0 && stream_step != 0) ||
        (i > 0 && stream_step == 0)) {
      return Damaged("the order of restart points");
    }
    point.stream_offset = last_stream + stream_step;
    point.file_offset = last_file + file_step;
    point.stream_start = (bits & kStreamStart) != 0;
    point.bits = bits & 0x7f;
    if (point.bits > 7 || (point.bits > 0 && (point.stream_start || point.file_offset == 0)) ||
        (point.stream_start && !window.empty())) {
      return Damaged("the bits of a restart point");
    }
    point.window = std::string(window);
    points->push_back(std::move(point));
  }
  return absl::OkStatus();
}

}  // namespace

uint64_t ShardIndex::RecordOffset(uint64_t k) const {
  PS_CHECK(k <= lengths_.size());
  if (k == lengths_.size()) return stream_size_;
  uint64_t offset = offsets_[k / kOffsetStride];
  for (uint64_t i = k - k % kOffsetStride; i < k; ++i) offset += FramedLength(i);
  return offset;
}

void ShardIndex::AppendRecord(uint32_t length) {
  if (lengths_.size() % kOffsetStride == 0) offsets_.push_back(stream_size_);
  lengths_.push_back(length);
  stream_size_ += uint64_t{length} + kRecordFrameBytes;
  longest_ = std::max(longest_, length);
}

void ShardIndex::Compact() {
  lengths_.shrink_to_fit();
  offsets_.shrink_to_fit();
  restart_points.shrink_to_fit();
}

size_t ShardIndex::MemoryBytes() const {
  size_t bytes = lengths_.capacity() * sizeof(lengths_[0]) + offsets_.capacity() * sizeof(offsets_[0]) +
                 restart_points.capacity() * sizeof(RestartPoint);
  for (const RestartPoint& point : restart_points) bytes += point.window.capacity();
  return bytes;
}

std::string ShardIndex::Serialize() const {
  std::string out(kMagic);
  AppendFixed(tag.empty() ? kVersion : kVersionWithTag, &out);
  AppendFixed(static_cast<uint8_t>(compression), &out);
  AppendVarint(file_size, &out);
  AppendFixed(mtime_ns, &out);
  AppendFixed(content_hash, &out);
  if (!tag.empty()) {
    AppendVarint(tag.size(), &out);
    out += tag;
  }
  AppendVarint(lengths_.size(), &out);
  for (const uint32_t length : lengths_) AppendVarint(length, &out);
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

absl::StatusOr<ShardIndex> ShardIndex::Parse(std::string_view blob) {
  if (blob.size() < kMagic.size() + sizeof(kVersion) + kChecksumBytes || blob.substr(0, kMagic.size()) != kMagic) {
    return absl::DataLossError("not a shard index");
  }
  const uint32_t version = LoadLittleEndian<uint32_t>(blob.data() + kMagic.size());
  if (version != kVersion && version != kVersionWithTag) {
    return absl::FailedPreconditionError(
        absl::StrCat("a shard index of version ", version, "; this release reads versions up to ", kVersionWithTag));
  }
  const std::string_view body = blob.substr(0, blob.size() - kChecksumBytes);
  if (Hash64(body) != LoadLittleEndian<uint64_t>(blob.data() + body.size())) {
    return Damaged("wrong checksum");
  }

  WireReader in(body.substr(kMagic.size() + sizeof(kVersion)));
  ShardIndex index;
  uint8_t compression = 0;
  uint64_t records = 0;
  if (!ReadFixed(&in, &compression) || !in.ReadVarint(&index.file_size) || !ReadFixed(&in, &index.mtime_ns) ||
      !ReadFixed(&in, &index.content_hash)) {
    return Damaged("header");
  }
  if (version == kVersionWithTag) {
    uint64_t tag_bytes = 0;
    std::string_view tag;
    if (!in.ReadVarint(&tag_bytes) || tag_bytes == 0 || tag_bytes > kMaxTagBytes ||
        !in.ReadBytes(static_cast<size_t>(tag_bytes), &tag)) {
      return Damaged("the tag");
    }
    index.tag = std::string(tag);
  }
  if (!in.ReadVarint(&records) || records > in.left()) return Damaged("header");
  if (compression < static_cast<uint8_t>(Compression::kNone) ||
      compression > static_cast<uint8_t>(Compression::kZlib)) {
    return Damaged("unknown compression");
  }
  index.compression = static_cast<Compression>(compression);
  index.lengths_.reserve(records);
  index.offsets_.reserve((records + kOffsetStride - 1) / kOffsetStride);
  for (uint64_t i = 0; i < records; ++i) {
    uint64_t length = 0;
    if (!in.ReadVarint(&length) || length > kLargestMaxRecordBytes) return Damaged("a length");
    index.AppendRecord(static_cast<uint32_t>(length));
  }
  PS_RETURN_IF_ERROR(ParseRestartPoints(&in, index.stream_size_, index.file_size, &index.restart_points));
  if (!in.done()) return Damaged("bytes after its end");
  const bool plain = index.compression == Compression::kNone;
  if (plain && index.stream_size_ != index.file_size) {
    return Damaged("its records do not add up to the file");
  }
  if (plain ? !index.restart_points.empty() : (index.stream_size_ > 0 && index.restart_points.empty())) {
    return Damaged("restart points do not fit the compression");
  }
  return index;
}

}  // namespace penstock
