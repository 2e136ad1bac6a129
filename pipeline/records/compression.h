// The compression of a shard, and its detection by a file's first bytes.
#ifndef PENSTOCK_PIPELINE_RECORDS_COMPRESSION_H_
#define PENSTOCK_PIPELINE_RECORDS_COMPRESSION_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/file.h"

namespace penstock {

// The numbers are those of penstock.v1.Dataset.Compression and are stored in indexes. Never change one.
enum class Compression : uint8_t {
  kAuto = 0,  // detect by the file's first bytes
  kNone = 1,
  kGzip = 2,  // RFC 1952; any number of members
  kZlib = 3,  // RFC 1950; one stream
};

// Returns "AUTO", "NONE", "GZIP" or "ZLIB".
std::string_view CompressionName(Compression compression);

// Returns the compression of a file, detected by its content and never by its name. Never returns kAuto. If the first
// 12 bytes are a record header with a valid CRC, the file is plain even if they resemble a compressed format: a plain
// record of 559,903 bytes begins like gzip. Otherwise gzip's magic means gzip. Two bytes like those of zlib mean zlib
// only if their decompressed content begins with a record or is empty. All other files are plain; reading then reports
// the error of the first record.
absl::StatusOr<Compression> DetectCompression(const RandomAccessFile& file);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_RECORDS_COMPRESSION_H_
