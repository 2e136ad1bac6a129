// The kind of a shard: its container and its compression, detected by its content.
#ifndef PENSTOCK_PIPELINE_SOURCES_SHARD_KIND_H_
#define PENSTOCK_PIPELINE_SOURCES_SHARD_KIND_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "pipeline/sources/compression.h"

namespace penstock::sources {

// The numbers are those of penstock.v1.Container and are stored in indexes. Never change one.
enum class ContainerKind : uint8_t {
  kTfRecord = 0,  // records with lengths and CRCs (tfrecord/framing.h)
  kTar = 1,       // samples of a WebDataset: neighboring members with one key (tar/tar_container.h)
  kJsonl = 2,     // lines with a JSON object each (lines/line_container.h)
  kText = 3,      // lines of text; never detected (lines/line_container.h)
  kCsv = 4,       // rows of fields with "," between them; never detected (lines/line_container.h)
  kTsv = 5,       // the same with tabs
  kNpy = 6,       // rows of an array of NumPy (npy/npy_container.h)
  kManifest = 7,  // rows that name files; never detected (manifest/manifest_container.h)
};
inline constexpr ContainerKind kLastContainer = ContainerKind::kManifest;

// Returns the number of bytes that the container adds to each record's data.
uint32_t FrameBytesOf(ContainerKind container);
// Returns whether the container stores checksums of its data. Otherwise the index has one for each member of a record.
bool HasChecksums(ContainerKind container);
// Returns whether all records of a file share bytes that the file stores once (ShardIndex::head).
bool HasHead(ContainerKind container);
// Returns whether a record names a file, whose bytes belong to its data (ShardIndex::files).
inline bool NamesFiles(ContainerKind container) { return container == ContainerKind::kManifest; }
// Returns the byte between two fields of a row of kCsv or kTsv. Other containers have no rows: returns 0.
char DelimiterOf(ContainerKind container);
// Returns whether the content of a file can decide that it has this container.
bool IsDetectable(ContainerKind container);

struct ShardKind {
  Compression compression = Compression::kNone;
  ContainerKind container = ContainerKind::kTfRecord;

  bool operator==(const ShardKind&) const = default;
};

// Returns the kind of a file by its content, never by its name.
//   - If the first 12 bytes are a record header with a valid CRC, the file is a plain TFRecord file, even if they
//     resemble a compressed format: a plain record of 559,903 bytes begins like gzip.
//   - Otherwise gzip's magic means gzip. Two bytes like those of zlib mean zlib only if their decompressed content
//     begins with a record, a tar header or a JSON object, or is empty.
//   - A stream that begins with a tar header is tar, and one that begins with NumPy's magic is NPY. Text that begins
//     with an object of JSON is JSONL (lines/text_bytes.h), unless the object has several lines. Every other stream is
//     TFRecord. Reading then reports the error of the first record.
//   - With kTar as `expected`, a stream that is empty or begins with an end mark is a tar archive without members.
//   - With kJsonl as `expected`, a stream that is empty or begins with any text is JSONL.
//   - With kText, kCsv, kTsv or kManifest as `expected`, a stream has this container if it begins neither with a record
//   nor with a
//     tar header, and its first 512 bytes have no zero. Text may begin like zlib, so zlib then needs 512 bytes that
//     decompress without an error.
// The first two rules are for kAuto. With another `compression`, the result has that compression.
absl::StatusOr<ShardKind> DetectShardKind(const RandomAccessFile& file, Compression compression = Compression::kAuto,
                                          std::optional<ContainerKind> expected = std::nullopt);

// Returns whether the stream begins with the header of a TFRecord. `compression` must not be kAuto.
absl::StatusOr<bool> BeginsWithRecord(const RandomAccessFile& file, Compression compression);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_SHARD_KIND_H_
