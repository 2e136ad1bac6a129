#include "pipeline/records/compression.h"

#include <zlib.h>

#include "base/status_macros.h"
#include "pipeline/records/framing.h"
#include "pipeline/records/inflate_stream.h"

namespace penstock {
namespace {

bool LooksLikeGzip(const unsigned char* bytes) {
  return bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == Z_DEFLATED;
}

// RFC 1950, 2.2: deflate, a window of at most 32 KiB, no preset dictionary, valid check bits.
bool LooksLikeZlib(const unsigned char* bytes) {
  return (bytes[0] & 0x0f) == Z_DEFLATED && (bytes[0] >> 4) <= 7 && (bytes[1] & 0x20) == 0 &&
         (bytes[0] * 256 + bytes[1]) % 31 == 0;
}

}  // namespace

std::string_view CompressionName(Compression compression) {
  switch (compression) {
    case Compression::kAuto:
      return "AUTO";
    case Compression::kNone:
      return "NONE";
    case Compression::kGzip:
      return "GZIP";
    case Compression::kZlib:
      return "ZLIB";
  }
  return "unknown";
}

absl::StatusOr<Compression> DetectCompression(const RandomAccessFile& file) {
  char first[kRecordHeaderBytes];
  PS_ASSIGN_OR_RETURN(const size_t n, file.ReadAt(0, sizeof(first), first));
  if (n == sizeof(first) && HeaderCrcIsRight(first)) return Compression::kNone;
  const auto* bytes = reinterpret_cast<const unsigned char*>(first);
  if (n >= 3 && LooksLikeGzip(bytes)) return Compression::kGzip;
  if (n >= 2 && LooksLikeZlib(bytes)) {
    PS_ASSIGN_OR_RETURN(auto stream, InflateStream::Start(&file, Compression::kZlib, nullptr));
    char inflated[kRecordHeaderBytes];
    const absl::StatusOr<size_t> got = stream->Read(inflated, sizeof(inflated));
    if (!got.ok()) {
      if (absl::IsDataLoss(got.status())) return Compression::kNone;
      return got.status();
    }
    if (*got == 0 || (*got == sizeof(inflated) && HeaderCrcIsRight(inflated))) {
      return Compression::kZlib;
    }
  }
  return Compression::kNone;
}

}  // namespace penstock
