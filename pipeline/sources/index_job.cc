#include "pipeline/sources/index_job.h"

namespace penstock {

Compression CompressionOf(v1::Dataset::Compression compression) {
  switch (compression) {
    case v1::Dataset::NONE:
      return Compression::kNone;
    case v1::Dataset::GZIP:
      return Compression::kGzip;
    case v1::Dataset::ZLIB:
      return Compression::kZlib;
    default:
      return Compression::kAuto;
  }
}

IndexOptions IndexOptionsOf(v1::Dataset::Compression compression, uint64_t max_record_bytes) {
  IndexOptions options;
  options.compression = CompressionOf(compression);
  if (max_record_bytes != 0) options.max_record_bytes = max_record_bytes;
  return options;
}

}  // namespace penstock
