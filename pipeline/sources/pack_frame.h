// The bytes of a row that is packed from several records (ShardIndex::packs), as ShardReader returns them:
//   u32 number of parts; for each part: u32 number of its record in the shard, u32 first value, u32 number of values,
//   u32 bytes of the record; then the bytes of the records.
// Numbers are little-endian.
#ifndef PENSTOCK_PIPELINE_SOURCES_PACK_FRAME_H_
#define PENSTOCK_PIPELINE_SOURCES_PACK_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace penstock::sources {

// `count` values of a record, from number `first` on.
struct FramedPart {
  uint32_t number = 0;  // the record has it in the shard
  uint32_t first = 0;
  uint32_t count = 0;
  std::string_view record = {};  // the bytes of the record
};

// Returns the bytes before the records.
constexpr size_t PackHeaderBytes(size_t parts) { return sizeof(uint32_t) * (1 + 4 * parts); }

// Writes these bytes to `out`, for records of which only the sizes matter.
void StorePackHeader(const std::vector<FramedPart>& parts, char* out);

// Replaces *parts by those of a row, whose records are in `row`. Returns InvalidArgument if it is malformed.
absl::Status ParsePack(std::string_view row, std::vector<FramedPart>* parts);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_PACK_FRAME_H_
