// How a shard is compressed, and finding it out from a file's first bytes.
#ifndef PENSTOCK_PIPELINE_RECORDS_COMPRESSION_H_
#define PENSTOCK_PIPELINE_RECORDS_COMPRESSION_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/file.h"

namespace penstock {

// The numbers are those of penstock.v1.Dataset.Compression and are stored in indexes; never change
// one.
enum class Compression : uint8_t {
  kAuto = 0,  // by the file's first bytes
  kNone = 1,
  kGzip = 2,  // RFC 1952; any number of members
  kZlib = 3,  // RFC 1950; one stream
};

// "AUTO", "NONE", "GZIP", "ZLIB".
std::string_view CompressionName(Compression compression);

// Decides by content, never by name; never returns kAuto. A file whose first 12 bytes are a record
// header with a right CRC is plain, whatever those bytes look like: a plain record of 559,903 bytes
// begins like gzip. After that, gzip's magic means gzip; two bytes like zlib's mean zlib only when
// what they inflate to begins with a record or is empty. All else is plain (reading then says what
// is wrong with the first record).
absl::StatusOr<Compression> DetectCompression(const RandomAccessFile& file);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_RECORDS_COMPRESSION_H_
