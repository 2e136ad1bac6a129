// The sizes of a loader's in-memory caches, and measurements of the jobs that use them.
#ifndef PENSTOCK_PIPELINE_TUNING_CACHE_SIZES_H_
#define PENSTOCK_PIPELINE_TUNING_CACHE_SIZES_H_

#include <cstdint>

namespace penstock::tuning {

// Sizes in bytes.
struct CacheSizes {
  uint64_t records = 0;
  uint64_t decoded = 0;
  uint64_t rows = 0;
  uint64_t sum() const { return records + decoded + rows; }
  bool operator==(const CacheSizes&) const = default;
};

struct CacheLimits {
  CacheSizes first;  // initial sizes; pinned ones never change
  bool records_pinned = false;
  bool decoded_pinned = false;
  bool rows_pinned = false;
  bool all_pinned() const { return records_pinned && decoded_pinned && rows_pinned; }
};

// A job whose rows the loader makes. Seconds are mean thread seconds. Bytes are means per entry, including its
// overhead. 0 means not measured yet.
struct CacheJob {
  uint64_t id = 0;          // stable identifier
  uint64_t data = 0;        // equal for jobs with the same records
  double rows = 0;          // made since the previous CacheChooser::Step
  double records = 0;       // per epoch, from this loader
  bool read_again = false;  // the job will read the records again
  bool same_rows = false;   // no random ops: a record's row is the same in each epoch
  bool decodes = false;     // its images can be cached decoded, and enough epochs remain to pay for it
  double read_seconds = 0;  // thread time of a read that misses the caches
  double from_record_seconds = 0;
  double from_decoded_seconds = 0;
  double kept_seconds = 0;  // to copy a finished row to its destination
  double record_bytes = 0;
  double decoded_bytes = 0;
  double row_bytes = 0;
};

}  // namespace penstock::tuning

#endif  // PENSTOCK_PIPELINE_TUNING_CACHE_SIZES_H_
