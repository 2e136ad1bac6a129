#include "pipeline/sources/compression.h"

namespace penstock::sources {

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

}  // namespace penstock::sources
