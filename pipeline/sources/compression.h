// The compression of a shard.
#ifndef PENSTOCK_PIPELINE_SOURCES_COMPRESSION_H_
#define PENSTOCK_PIPELINE_SOURCES_COMPRESSION_H_

#include <cstdint>
#include <string_view>

namespace penstock::sources {

// The numbers are those of penstock.v1.Dataset.Compression and are stored in indexes. Never change one.
enum class Compression : uint8_t {
  kAuto = 0,  // detect by the content: see shard_kind.h
  kNone = 1,
  kGzip = 2,  // RFC 1952; any number of members
  kZlib = 3,  // RFC 1950; one stream
};

// Returns "AUTO", "NONE", "GZIP" or "ZLIB".
std::string_view CompressionName(Compression compression);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_COMPRESSION_H_
