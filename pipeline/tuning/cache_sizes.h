// The sizes of a loader's caches in memory, and what is known of the jobs that use them.
#ifndef PENSTOCK_PIPELINE_TUNING_CACHE_SIZES_H_
#define PENSTOCK_PIPELINE_TUNING_CACHE_SIZES_H_

#include <cstdint>

namespace penstock {

// Bytes.
struct CacheSizes {
  uint64_t records = 0;
  uint64_t decoded = 0;
  uint64_t rows = 0;
  uint64_t sum() const { return records + decoded + rows; }
  bool operator==(const CacheSizes&) const = default;
};

struct CacheLimits {
  CacheSizes first;  // what they begin with; what is pinned stays so
  bool records_pinned = false;
  bool decoded_pinned = false;
  bool rows_pinned = false;
  bool all_pinned() const { return records_pinned && decoded_pinned && rows_pinned; }
};

// A job that rows are made for. Seconds are those of threads, means; bytes are of an entry, with what it takes beside
// its content, means as well. 0: not measured yet.
struct CacheJob {
  uint64_t id = 0;          // stays
  uint64_t data = 0;        // jobs with the same records have the same
  double rows = 0;          // made since the last look
  double records = 0;       // that an epoch asks this loader for
  bool read_again = false;  // they are going to be asked for again
  bool same_rows = false;   // nothing is drawn: a record's row is the same in each epoch
  bool decodes = false;     // there are images to be kept decoded, and epochs enough to come for that to pay
  double read_seconds = 0;  // what a read that memory has not costs the threads
  double from_record_seconds = 0;
  double from_decoded_seconds = 0;
  double kept_seconds = 0;  // a finished row, to where it is wanted
  double record_bytes = 0;
  double decoded_bytes = 0;
  double row_bytes = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_TUNING_CACHE_SIZES_H_
