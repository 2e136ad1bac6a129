// Limits on the size of a record.
#ifndef PENSTOCK_PIPELINE_SOURCES_RECORD_LIMITS_H_
#define PENSTOCK_PIPELINE_SOURCES_RECORD_LIMITS_H_

#include <cstdint>

namespace penstock::sources {

// The default limit on the size of a record.
constexpr uint64_t kDefaultMaxRecordBytes = uint64_t{256} << 20;
// The largest limit that an option may set, because lengths are stored in 32 bits.
constexpr uint64_t kLargestMaxRecordBytes = (uint64_t{1} << 32) - 1;
// The limit on the head of a shard (ShardIndex::head). Each record in memory has a copy of it.
constexpr uint64_t kMaxHeadBytes = 64 << 10;

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_RECORD_LIMITS_H_
