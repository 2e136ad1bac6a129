#include "pipeline/sources/shard_kind.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "base/npy_header.h"
#include "base/status_macros.h"
#include "pipeline/sources/inflate_stream.h"
#include "pipeline/sources/lines/text_bytes.h"
#include "pipeline/sources/tar/tar_header.h"
#include "pipeline/sources/tfrecord/framing.h"

namespace penstock::sources {
namespace {

bool LooksLikeGzip(const unsigned char* bytes) {
  return bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == Z_DEFLATED;
}

// RFC 1950, 2.2: deflate, a window of at most 32 KiB, no preset dictionary, valid check bits.
bool LooksLikeZlib(const unsigned char* bytes) {
  return (bytes[0] & 0x0f) == Z_DEFLATED && (bytes[0] >> 4) <= 7 && (bytes[1] & 0x20) == 0 &&
         (bytes[0] * 256 + bytes[1]) % 31 == 0;
}

// The first bytes of a stream.
struct FirstBytes {
  char bytes[kTarBlockBytes] = {};
  size_t count = 0;
  bool is_damaged = false;  // the stream is, after them

  bool IsRecord() const { return count >= kRecordHeaderBytes && HeaderCrcIsRight(bytes); }
  // Returns the container that the bytes prove. The header of a record has a checksum of 32 bits, a tar header one
  // of 17.
  std::optional<ContainerKind> Container(std::optional<ContainerKind> expected) const {
    if (IsRecord()) return ContainerKind::kTfRecord;
    if (IsTar(expected == ContainerKind::kTar)) return ContainerKind::kTar;
    if (IsNpy()) return ContainerKind::kNpy;
    if (expected.has_value() && !IsDetectable(*expected)) {
      const bool has_zero = std::find(bytes, bytes + count, '\0') != bytes + count;
      return has_zero ? std::nullopt : expected;
    }
    if (BeginsWithJsonLine({bytes, count})) return ContainerKind::kJsonl;
    if (expected == ContainerKind::kJsonl && std::all_of(bytes, bytes + count, IsTextByte))
      return ContainerKind::kJsonl;
    return std::nullopt;
  }

 private:
  bool IsNpy() const { return std::string_view(bytes, count).starts_with(kNpyMagic); }
  // A tar archive may begin with its end mark or be empty, but so may other streams.
  bool IsTar(bool tar_is_expected) const {
    if (count == kTarBlockBytes && IsTarHeader(bytes)) return true;
    if (!tar_is_expected || (count != 0 && count != kTarBlockBytes)) return false;
    return std::all_of(bytes, bytes + count, [](char c) { return c == 0; });
  }
};

// Returns the first bytes of the decompressed stream, or nullopt if it is damaged there.
absl::StatusOr<std::optional<FirstBytes>> InflateFirst(const RandomAccessFile& file, Compression compression) {
  FirstBytes first;
  absl::StatusOr<size_t> got = size_t{0};
  const auto stream = InflateStream::Start(&file, compression, nullptr);
  if (stream.ok()) {
    while (first.count < kTarBlockBytes) {
      got = (*stream)->Read(first.bytes + first.count, kTarBlockBytes - first.count);
      if (!got.ok() || *got == 0) break;
      first.count += *got;
    }
  }
  const absl::Status& status = stream.ok() ? got.status() : stream.status();
  if (!status.ok() && !absl::IsDataLoss(status)) return status;
  if (!status.ok() && first.count == 0) return std::optional<FirstBytes>();
  first.is_damaged = !status.ok();
  return std::optional<FirstBytes>(first);
}

}  // namespace

uint32_t FrameBytesOf(ContainerKind container) { return container == ContainerKind::kTfRecord ? kRecordFrameBytes : 0; }

bool HasChecksums(ContainerKind container) { return container == ContainerKind::kTfRecord; }

char DelimiterOf(ContainerKind container) {
  return container == ContainerKind::kCsv ? ',' : container == ContainerKind::kTsv ? '\t' : '\0';
}

bool HasHead(ContainerKind container) {
  return container == ContainerKind::kNpy || NamesFiles(container) || DelimiterOf(container) != '\0';
}

bool IsDetectable(ContainerKind container) {
  return container != ContainerKind::kText && !NamesFiles(container) && DelimiterOf(container) == '\0';
}

absl::StatusOr<ShardKind> DetectShardKind(const RandomAccessFile& file, Compression compression,
                                          std::optional<ContainerKind> expected) {
  FirstBytes first;
  PS_ASSIGN_OR_RETURN(first.count, file.ReadAt(0, sizeof(first.bytes), first.bytes));
  const auto* bytes = reinterpret_cast<const unsigned char*>(first.bytes);
  const bool detect = compression == Compression::kAuto;
  if (detect && !first.IsRecord() && first.count >= 3 && LooksLikeGzip(bytes)) compression = Compression::kGzip;
  const bool try_zlib =
      detect && compression == Compression::kAuto && !first.IsRecord() && first.count >= 2 && LooksLikeZlib(bytes);
  if (compression == Compression::kGzip || compression == Compression::kZlib || try_zlib) {
    const Compression tried = try_zlib ? Compression::kZlib : compression;
    PS_ASSIGN_OR_RETURN(const std::optional<FirstBytes> inflated, InflateFirst(file, tried));
    const std::optional<ContainerKind> container =
        inflated.has_value() ? inflated->Container(expected) : std::optional<ContainerKind>();
    const bool is_proved = container.has_value() && (IsDetectable(*container) || !inflated->is_damaged);
    if (!try_zlib || is_proved || (inflated.has_value() && inflated->count == 0)) {
      return ShardKind{tried, container.value_or(ContainerKind::kTfRecord)};
    }
  }
  return ShardKind{Compression::kNone, first.Container(expected).value_or(ContainerKind::kTfRecord)};
}

absl::StatusOr<bool> BeginsWithRecord(const RandomAccessFile& file, Compression compression) {
  FirstBytes first;
  if (compression == Compression::kNone) {
    PS_ASSIGN_OR_RETURN(first.count, file.ReadAt(0, sizeof(first.bytes), first.bytes));
  } else {
    PS_ASSIGN_OR_RETURN(const std::optional<FirstBytes> inflated, InflateFirst(file, compression));
    if (inflated.has_value()) first = *inflated;
  }
  return first.IsRecord();
}

}  // namespace penstock::sources
